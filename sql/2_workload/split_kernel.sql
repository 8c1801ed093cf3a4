-- Treatment of every kernel of a run when the model is split over several devices: the treatment of the anchor operator
-- (`operator_split`), and the collectives of all the kernel's operators.
-- Grain: run, kernel_id
CREATE TABLE split_kernel AS
WITH sent_tensors AS (
    SELECT
        c.model,
        c.backend,
        c.kernel_id,
        c.tensor_id,
        c.collective
    FROM (
        SELECT k.model, k.backend, k.kernel_id, s.collective_tensor_id AS tensor_id, s.collective
        FROM kernel_operator AS k
        INNER JOIN operator_split AS s ON s.model = k.model AND s.operator_id = k.operator_id
        WHERE s.collective IS NOT NULL
        UNION ALL
        SELECT k.model, k.backend, k.kernel_id, s.exchanged_tensor_id AS tensor_id, 'all_to_all' AS collective
        FROM kernel_operator AS k
        INNER JOIN operator_split AS s ON s.model = k.model AND s.operator_id = k.operator_id
        WHERE s.exchanged_tensor_id IS NOT NULL
    ) AS c
),

sent_bytes AS (
    SELECT
        r.run,
        c.kernel_id,
        SUM(CASE WHEN c.collective = 'all_reduce' THEN z.elements * p.bits / 8e0 ELSE 0e0 END) AS all_reduce_byte,
        SUM(CASE WHEN c.collective = 'all_gather' THEN z.elements * p.bits / 8e0 ELSE 0e0 END) AS all_gather_byte,
        SUM(CASE WHEN c.collective = 'all_to_all' THEN z.elements * p.bits / 8e0 ELSE 0e0 END) AS all_to_all_byte
    FROM run AS r
    INNER JOIN sent_tensors AS c ON c.model = r.run.model AND c.backend = r.run.backend
    INNER JOIN tensor_precision AS t ON t.model = r.run.model AND t.policy = r.run.precision AND t.tensor_id = c.tensor_id
    INNER JOIN precision AS p ON p.precision = t.precision
    INNER JOIN tensor_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = c.tensor_id
    GROUP BY r.run, c.kernel_id
),

placed_kernels AS (
    SELECT
        k.run,
        k.kernel_id,
        k.fused_kernel_id,
        k.anchor_operator_id,
        k.position,
        NULLIF(REGEXP_EXTRACT(CONCAT(k.module, '.'), '^((.*?\.)?[0-9]+)\.', 1), '') AS block,
        o.is_backward,
        o.is_repeated,
        MIN(CASE WHEN block IS NOT NULL THEN k.position END) OVER (PARTITION BY k.run, o.is_backward) AS block_position
    FROM run_kernel AS k
    INNER JOIN operator AS o ON o.model = k.run.model AND o.operator_id = k.anchor_operator_id
)

SELECT
    k.run,
    k.kernel_id,
    -- Module of the equal layer that contains the kernel: the module path up to the first number; null outside of the layers.
    k.block,
    -- Position of the kernel: `block` in a layer, `first` before the layers, `last` after the layers; kernels of the backward pass
    -- have the position of their forward kernels.
    CASE
        WHEN k.block IS NOT NULL THEN 'block'
        WHEN (k.position < COALESCE(k.block_position, k.position + 1)) = k.is_backward THEN 'last'
        ELSE 'first'
    END AS place,
    k.is_backward,
    k.is_repeated,
    COALESCE(s.split, 'whole') AS split,
    -- True if tensor parallelism splits the kernel.
    COALESCE(s.split <> 'whole', FALSE) AS is_split,
    s.pieces,
    s.fewer_pieces,
    -- Share of the kernel's features that belong to key-value heads, if there are fewer key-value heads than query heads.
    COALESCE(s.fewer_fraction, 0e0) AS fewer_fraction,
    s.expert_count,
    -- Bytes of an all-reduce after the kernel in tensor parallelism; else 0. [byte]
    COALESCE(b.all_reduce_byte, 0e0) AS all_reduce_byte,
    -- Bytes of an all-gather after the kernel in tensor parallelism, for a result that is needed whole; else 0. [byte]
    COALESCE(b.all_gather_byte, 0e0) AS all_gather_byte,
    -- True if expert parallelism splits the kernel.
    COALESCE(s.is_expert, FALSE) AS is_expert,
    -- Bytes that expert parallelism sends to the experts before the kernel or back after it; 0 for other kernels. [byte]
    COALESCE(b.all_to_all_byte, 0e0) AS all_to_all_byte,
    -- Size of the weights that the kernel needs in memory, even if it reads only some of them. [byte]
    COALESCE(h.held_byte, 0e0) AS weight_byte,
    -- Part of `weight_byte` that a training step updates. [byte]
    COALESCE(h.trained_byte, 0e0) AS trained_weight_byte,
    -- Bytes that cross a cut of the run after the kernel (`cut_byte`); null after an inserted kernel. [byte]
    c.crossing_byte
FROM placed_kernels AS k
LEFT JOIN operator_split AS s ON s.model = k.run.model AND s.operator_id = k.anchor_operator_id
LEFT JOIN sent_bytes AS b ON b.run = k.run AND b.kernel_id = k.kernel_id AND k.kernel_id = k.fused_kernel_id
LEFT JOIN held_weight AS h ON h.run = k.run AND h.kernel_id = k.kernel_id
LEFT JOIN cut_byte AS c ON c.run = k.run AND c.kernel_id = k.kernel_id
