-- Every storage a run allocates, from which to which kernel it is held, and how large it is: activations
-- and inputs, and the converted copies of a backend that converts by kernels of their own. Such a copy of
-- an activation is held until its last reader, that of a weight until the run ends (autocast's cache).
-- Allocators hand out blocks of 512 bytes (PyTorch c10/cuda/CUDACachingAllocator: kMinBlockSize).
-- Grain: model_id, scenario_id, tensor_id, precision
CREATE VIEW storage_byte (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Tensor whose storage it is.
    tensor_id,
    -- Element type it is held in.
    precision,
    -- True for a converted copy.
    is_copy,
    -- Tensor whose block of memory it lies in: its own, or one it takes over.
    block_tensor_id,
    -- Kernel that allocates it; -1 before the first kernel.
    first_subgraph_id,
    -- Last kernel during which it is held.
    last_subgraph_id,
    -- Bytes of its elements. [byte]
    held_byte,
    -- Bytes of its blocks. [byte]
    allocated_byte
) AS
WITH wide_storages AS (
    SELECT DISTINCT st.model_id, st.backend, t.storage_tensor_id
    FROM subgraph_tensor AS st
    INNER JOIN tensor AS t ON t.model_id = st.model_id AND t.tensor_id = st.tensor_id
    WHERE st.is_wide AND st.direction = 'write'
),

held_tensors AS (
    SELECT
        r.model_id,
        r.scenario_id,
        l.tensor_id,
        CASE WHEN w.storage_tensor_id IS NOT NULL AND p.bits < 32 THEN 'fp32' ELSE tp.precision END AS precision,
        FALSE AS is_copy,
        COALESCE(l.block_tensor_id, l.tensor_id) AS block_tensor_id,
        l.first_subgraph_id,
        l.last_subgraph_id
    FROM run AS r
    INNER JOIN tensor_lifetime AS l ON l.model_id = r.model_id AND l.backend = r.backend
    INNER JOIN tensor_precision AS tp
        ON tp.model_id = r.model_id AND tp.policy = r.policy AND tp.tensor_id = l.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
    LEFT JOIN wide_storages AS w
        ON w.model_id = r.model_id AND w.backend = r.backend AND w.storage_tensor_id = l.tensor_id
),

last_kernels AS (
    SELECT model_id, backend, MAX(subgraph_id) AS subgraph_id
    FROM subgraph
    GROUP BY model_id, backend
),

converted_copies AS (
    SELECT
        r.model_id,
        r.scenario_id,
        rp.tensor_id,
        rp.precision,
        TRUE AS is_copy,
        rp.tensor_id AS block_tensor_id,
        MIN(so.subgraph_id) AS first_subgraph_id,
        MAX(CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN k.subgraph_id ELSE so.subgraph_id END)
            AS last_subgraph_id
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN read_precision AS rp ON rp.model_id = r.model_id AND rp.policy = r.policy
    INNER JOIN tensor AS t ON t.model_id = rp.model_id AND t.tensor_id = rp.tensor_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = rp.model_id AND so.backend = r.backend AND so.operator_id = rp.operator_id
    INNER JOIN last_kernels AS k ON k.model_id = r.model_id AND k.backend = r.backend
    WHERE CASE
        WHEN t.role IN ('weight', 'buffer', 'constant') THEN b.weight_casts_are_kernels
        ELSE b.casts_are_kernels
    END
    GROUP BY r.model_id, r.scenario_id, rp.tensor_id, rp.precision
),

all_storages AS (
    SELECT * FROM held_tensors
    UNION ALL
    SELECT * FROM converted_copies
),

sized_storages AS (
    SELECT
        s.*,
        z.elements * p.bits / 8e0 AS held_byte
    FROM all_storages AS s
    INNER JOIN tensor_size AS z
        ON z.model_id = s.model_id AND z.scenario_id = s.scenario_id AND z.tensor_id = s.tensor_id
    INNER JOIN precision AS p ON p.precision = s.precision
)

SELECT
    model_id,
    scenario_id,
    tensor_id,
    precision,
    is_copy,
    block_tensor_id,
    first_subgraph_id,
    last_subgraph_id,
    held_byte,
    CEIL(held_byte / 512e0) * 512e0 AS allocated_byte
FROM sized_storages
