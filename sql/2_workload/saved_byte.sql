-- Activations that a training run saves for its backward pass: storages that a forward kernel writes and a backward kernel reads.
-- Grain: run
CREATE VIEW saved_byte AS
WITH kept_tensors AS (
    -- Keys and values, under the name of the KV cache.
    SELECT t.model, t.tensor_id, MIN(m.storage_tensor_id) AS storage_tensor_id
    FROM tensor AS t
    INNER JOIN edge AS e ON e.model = t.model AND e.consumer_operator_id = t.producer_operator_id
    INNER JOIN tensor AS m ON m.model = e.model AND m.tensor_id = e.tensor_id AND m.role = 'activation'
    WHERE t.role = 'kv_cache'
    GROUP BY t.model, t.tensor_id
),

storages AS (
    SELECT
        b.run,
        COALESCE(k.storage_tensor_id, t.storage_tensor_id) AS storage_tensor_id,
        MIN(CASE WHEN b.direction = 'write' THEN b.kernel_id END) AS kernel_id,
        MAX(CASE WHEN b.direction = 'write' AND NOT s.is_backward THEN b.moved_byte ELSE 0e0 END) AS moved_byte
    FROM border_byte AS b
    INNER JOIN run AS r ON r.run = b.run
    INNER JOIN model AS m ON m.model = b.run.model
    INNER JOIN tensor AS t ON t.model = b.run.model AND t.tensor_id = b.tensor_id
    LEFT JOIN kept_tensors AS k ON k.model = b.run.model AND k.tensor_id = b.tensor_id
    INNER JOIN split_kernel AS s ON s.run = r.run AND s.kernel_id = b.kernel_id
    WHERE m.is_training AND b.backend = b.run_backend AND (b.direction = 'write' OR b.is_produced OR k.tensor_id IS NOT NULL)
    GROUP BY b.run, COALESCE(k.storage_tensor_id, t.storage_tensor_id)
    HAVING MAX(CASE WHEN b.direction = 'read' AND s.is_backward THEN 1 ELSE 0 END) = 1
)

SELECT
    s.run,
    -- Activations saved in the layers whose features tensor parallelism shards over devices. [byte]
    SUM(CASE WHEN s.place = 'block' AND s.split IN ('column', 'between') THEN g.moved_byte ELSE 0e0 END) AS split_saved_byte,
    -- Activations saved in the layers that every device keeps whole. [byte]
    SUM(CASE WHEN s.place = 'block' AND s.split IN ('row', 'whole') THEN g.moved_byte ELSE 0e0 END) AS whole_saved_byte,
    -- Part of the layers' saved activations that selective recomputation does not save. [byte]
    SUM(
        CASE
            WHEN s.place = 'block' AND (h.kernel_class = 'softmax' OR (h.kernel_class = 'matmul' AND s.split = 'between'))
                THEN g.moved_byte
            ELSE 0e0
        END
    ) AS core_saved_byte,
    -- Activations saved outside of layers whose features tensor parallelism shards over devices. [byte]
    SUM(CASE WHEN s.place <> 'block' AND s.split IN ('column', 'between') THEN g.moved_byte ELSE 0e0 END) AS end_split_saved_byte,
    -- Activations saved outside of layers that every device keeps whole. [byte]
    SUM(CASE WHEN s.place <> 'block' AND s.split IN ('row', 'whole') THEN g.moved_byte ELSE 0e0 END) AS end_whole_saved_byte
FROM storages AS g
INNER JOIN split_kernel AS s ON s.run = g.run AND s.kernel_id = g.kernel_id
INNER JOIN run_kernel AS k ON k.run = s.run AND k.kernel_id = s.kernel_id
INNER JOIN shape AS h ON h.run = k.run AND h.shape_id = k.shape_id GROUP BY s.run
