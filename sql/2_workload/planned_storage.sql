-- Every storage that the runs of a backend under a policy allocate, with its first and last kernel: activations and inputs, and
-- converted copies if the backend runs conversions as kernels. A copy of an activation lives until its last reader, a copy of a
-- weight until the end of the run (autocast's cache).
-- Grain: model, backend, precision, tensor_id, storage_precision
CREATE VIEW planned_storage AS
WITH plans AS (
    SELECT DISTINCT run.model, run.backend, run.precision
    FROM run
),

wide_storages AS (
    SELECT DISTINCT st.model, st.backend, t.storage_tensor_id
    FROM kernel_tensor AS st
    INNER JOIN tensor AS t ON t.model = st.model AND t.tensor_id = st.tensor_id
    WHERE st.is_wide AND st.direction = 'write'
),

last_kernels AS (
    SELECT model, backend, MAX(kernel_id) AS kernel_id
    FROM kernel
    GROUP BY model, backend
),

all_storages AS (
    SELECT
        r.model,
        r.backend,
        r.precision,
        l.tensor_id,
        CASE WHEN w.storage_tensor_id IS NOT NULL AND p.bits < 32 THEN 'fp32' ELSE tp.precision END AS storage_precision,
        FALSE AS is_copy,
        l.block_tensor_id,
        l.first_kernel_id,
        l.last_kernel_id,
        l.is_prompt_only
    FROM plans AS r
    INNER JOIN tensor_lifetime AS l ON l.model = r.model AND l.backend = r.backend
    INNER JOIN tensor_precision AS tp
        ON tp.model = r.model AND tp.policy = r.precision AND tp.tensor_id = l.tensor_id
    INNER JOIN precision AS p ON p.precision = tp.precision
    LEFT JOIN wide_storages AS w
        ON w.model = r.model AND w.backend = r.backend AND w.storage_tensor_id = l.tensor_id
    UNION ALL
    SELECT
        r.model,
        r.backend,
        r.precision,
        rp.tensor_id,
        rp.precision AS storage_precision,
        TRUE AS is_copy,
        rp.tensor_id AS block_tensor_id,
        MIN(so.kernel_id) AS first_kernel_id,
        MAX(CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN k.kernel_id ELSE so.kernel_id END)
            AS last_kernel_id,
        FALSE AS is_prompt_only
    FROM plans AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN read_precision AS rp ON rp.model = r.model AND rp.policy = r.precision
    INNER JOIN tensor AS t ON t.model = rp.model AND t.tensor_id = rp.tensor_id
    INNER JOIN kernel_operator AS so
        ON so.model = rp.model AND so.backend = r.backend AND so.operator_id = rp.operator_id
    INNER JOIN last_kernels AS k ON k.model = r.model AND k.backend = r.backend
    WHERE CASE
        WHEN t.role IN ('weight', 'buffer', 'constant') THEN b.weight_casts_are_kernels
        ELSE b.casts_are_kernels
    END
    GROUP BY r.model, r.backend, r.precision, rp.tensor_id, rp.precision
)

SELECT
    s.model,
    s.backend,
    s.precision,
    s.tensor_id,
    -- Element type of the storage.
    s.storage_precision,
    p.bits,
    -- True for a converted copy.
    s.is_copy,
    -- Tensor whose block of memory the storage uses: the storage's tensor, or an earlier tensor whose block is reused.
    s.block_tensor_id,
    -- Kernel that allocates the storage; -1 before the first kernel.
    s.first_kernel_id,
    -- Last kernel that needs the storage.
    s.last_kernel_id,
    s.is_prompt_only
FROM all_storages AS s
INNER JOIN precision AS p ON p.precision = s.storage_precision
