-- Memory in use for a whole run: weights, buffers and constants at the policy's element sizes, storages with several names counted
-- once, and in prefill and decode the KV cache.
-- Grain: run
CREATE VIEW resident_byte AS
-- A device's share of a weight is the largest share that any product or look-up needs; if all devices run one of these whole, it is
-- the whole weight.
WITH split_tensors AS (
    SELECT
        e.model,
        r.device_count,
        t.storage_tensor_id AS tensor_id,
        MAX(
            CASE
                WHEN s.split IN ('column', 'row') THEN split_share(s.pieces, s.fewer_pieces, s.fewer_fraction, r.device_count)
                ELSE 1e0
            END
        ) AS device_share
    FROM (SELECT DISTINCT run.model, device_count FROM run) AS r
    INNER JOIN edge AS e ON e.model = r.model
    INNER JOIN operator AS o ON o.model = e.model AND o.operator_id = e.consumer_operator_id
    INNER JOIN operator_class AS c ON c.operator_class = o.operator_class
    INNER JOIN tensor AS t ON t.model = e.model AND t.tensor_id = e.tensor_id
    -- A product may read a weight through views, such as experts' transposed weights.
    INNER JOIN tensor AS w ON w.model = t.model AND w.tensor_id = t.storage_tensor_id
    LEFT JOIN operator_split AS s ON s.model = o.model AND s.operator_id = o.operator_id
    WHERE w.role = 'weight' AND (c.is_matrix OR c.operator_class = 'embedding')
    GROUP BY e.model, r.device_count, t.storage_tensor_id
),

resident_tensors AS (
    SELECT
        r.model,
        r.precision,
        t.tensor_id,
        t.role,
        t.role = 'kv_cache' AND t.producer_operator_id IS NULL AS is_state,
        t.is_chunked,
        t.is_trained,
        p.bits,
        c.pieces
    FROM (SELECT DISTINCT run.model, run.precision FROM run) AS r
    INNER JOIN tensor AS t
        ON t.model = r.model
        AND (t.role = 'kv_cache' OR (t.role IN ('weight', 'buffer', 'constant', 'input') AND t.storage_tensor_id = t.tensor_id))
    INNER JOIN tensor_precision AS tp
        ON tp.model = r.model AND tp.policy = r.precision AND tp.tensor_id = t.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
    LEFT JOIN cache_split AS c ON c.model = t.model AND c.tensor_id = t.tensor_id
),

tensor_bytes AS (
    SELECT
        r.run,
        t.role,
        t.is_trained,
        z.elements,
        z.elements * t.bits / 8e0 AS byte,
        COALESCE(d.device_share, 1e0) AS device_share,
        CASE WHEN t.role = 'kv_cache' AND r.phase IN ('prefill', 'decode') THEN 1e0 ELSE 0e0 END
        * CASE WHEN t.is_state THEN t.bits ELSE COALESCE(r.kv_bits, t.bits) END / 8e0 AS kept_byte,
        CASE WHEN t.is_chunked AND NOT COALESCE(b.drops_chunks, FALSE) THEN z.whole_elements ELSE z.elements END AS kept_elements,
        z.lasting_elements,
        CASE WHEN t.pieces IS NULL THEN 1e0 ELSE device_share(t.pieces, r.device_count) END AS cache_share
    FROM run AS r
    LEFT JOIN backend AS b ON b.backend = r.run.backend
    LEFT JOIN resident_tensors AS t ON t.model = r.run.model AND t.precision = r.run.precision
    LEFT JOIN tensor_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = t.tensor_id
    LEFT JOIN split_tensors AS d ON d.model = r.run.model AND d.device_count = r.device_count AND d.tensor_id = t.tensor_id
)

SELECT
    run,
    -- Size of the parameters. [byte]
    SUM(CASE WHEN role = 'weight' THEN byte ELSE 0e0 END) AS weight_byte,
    -- Size of the parameters on one device under tensor parallelism. [byte]
    SUM(CASE WHEN role = 'weight' THEN device_share * byte ELSE 0e0 END) AS device_weight_byte,
    -- Size of the parameters that a training step updates. [byte]
    SUM(CASE WHEN is_trained THEN byte ELSE 0e0 END) AS trained_weight_byte,
    -- Number of parameters that a training step updates.
    SUM(CASE WHEN is_trained THEN elements ELSE 0e0 END) AS trained_parameter_count,
    -- Size of the buffers and constants. [byte]
    SUM(CASE WHEN role IN ('buffer', 'constant') THEN byte ELSE 0e0 END) AS buffer_byte,
    -- Size of the model's inputs, which are copied to the device before a run and freed in the run. [byte]
    SUM(CASE WHEN role = 'input' THEN byte ELSE 0e0 END) AS input_byte,
    -- Size of the KV cache for all tokens of the context, and of other state kept between decode steps; 0 outside of prefill and
    -- decode. [byte]
    COALESCE(SUM(kept_byte * kept_elements), 0e0) AS kv_cache_byte,
    -- Size of the KV cache on one device under tensor parallelism. [byte]
    COALESCE(SUM(kept_byte * kept_elements * cache_share), 0e0) AS device_cache_byte,
    -- Part of `device_cache_byte` that does not grow with the context: states, and a decoder's copy of an encoder's result. [byte]
    COALESCE(SUM(kept_byte * lasting_elements * cache_share), 0e0) AS device_lasting_byte
FROM tensor_bytes
GROUP BY run
