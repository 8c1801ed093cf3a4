-- Conversions that a run's precision policy inserts and that the backend runs as separate kernels.
-- Grain: run, insertion_id
CREATE VIEW cast_kernel AS
-- The table is materialized, because the planner would otherwise join every tensor with every run first.
WITH cast_tensors AS MATERIALIZED (
    SELECT
        r.run,
        r.context,
        r.logit_tokens,
        r.chunk_count,
        r.run_layout,
        o.kernel_id,
        c.cast_id,
        c.operator_id,
        c.tensor_id,
        c.to_precision,
        pf.bits AS from_bits,
        pt.bits AS to_bits,
        t.role IN ('weight', 'buffer', 'constant') AS is_constant,
        t.producer_operator_id
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.run.backend
    INNER JOIN precision_cast AS c ON c.model = r.run.model AND c.policy = r.run.precision
    INNER JOIN tensor AS t ON t.model = c.model AND t.tensor_id = c.tensor_id
    INNER JOIN kernel_operator AS o ON o.model = r.run.model AND o.backend = r.run.backend AND o.operator_id = c.operator_id
    INNER JOIN precision AS pf ON pf.precision = c.from_precision
    INNER JOIN precision AS pt ON pt.precision = c.to_precision
    WHERE CASE
        WHEN t.role IN ('weight', 'buffer', 'constant') THEN b.weight_casts_are_kernels
        ELSE b.casts_are_kernels
    END
)

SELECT
    c.run,
    -- Number of the fused kernel; for an inserted kernel, of the fused kernel that it serves.
    c.kernel_id,
    -- Kind of insertion: 0 for a fused kernel, 1 for a conversion, 2 for a copy, 3 for a bias.
    CAST(1 AS BIGINT) AS insertion,
    -- Number of the kernel within its kind of insertion.
    c.cast_id AS insertion_id,
    -- Position in the order of issue; inserted kernels have fractional positions between fused kernels.
    c.kernel_id - 0.5e0 AS issue_place,
    -- Readable name of the kernel: the operator classes that the kernel fuses.
    'cast' AS kernel,
    -- Class of the anchor operator.
    'cast' AS kernel_class,
    -- Anchor of the kernel: the operator that determines the kernel's class.
    c.operator_id AS anchor_operator_id,
    -- ATen operator of the anchor; `*` for conversions and biases.
    '*' AS operator_name,
    -- Element type in which the policy asks the anchor to compute.
    c.to_precision AS compute_precision,
    -- Memory layout of the anchor's tensors: `nchw`, `nhwc` or `strided`.
    c.run_layout AS layout,
    -- Number of operators that the kernel executes.
    CAST(1 AS BIGINT) AS operator_count,
    -- Number of views that the host dispatches before the kernel.
    CAST(0 AS BIGINT) AS view_count,
    -- Bytes of activations and model inputs read. [byte]
    CASE WHEN c.is_constant THEN 0e0 ELSE z.elements * c.from_bits / 8e0 END AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    CASE WHEN c.is_constant THEN z.elements * c.from_bits / 8e0 ELSE 0e0 END AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    0e0 AS kv_cache_byte,
    -- Bytes of results written. [byte]
    z.elements * c.to_bits / 8e0 AS output_byte,
    -- Part of the bytes read that an earlier kernel of the run wrote. [byte]
    CASE WHEN c.producer_operator_id IS NULL THEN 0e0 ELSE z.elements * c.from_bits / 8e0 END AS produced_byte,
    -- Size of the largest tensor read or written, weights excluded; the kernel loops over this tensor. [byte]
    z.elements * c.to_bits / 8e0 AS loop_byte
FROM cast_tensors AS c
INNER JOIN tensor_size AS z
    ON z.model = c.run.model AND z.batch = c.run.batch AND z.sequence = c.run.sequence AND z.context = c.context
    AND z.logit_tokens = c.logit_tokens AND z.chunk_count = c.chunk_count AND z.tensor_id = c.tensor_id
