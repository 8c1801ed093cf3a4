-- Biases of convolutions that a backend adds with separate kernels on some parts (`part_support.bias_is_kernel`).
-- Grain: run, insertion_id
CREATE VIEW bias_kernel AS
SELECT
    r.run,
    -- Number of the fused kernel; for an inserted kernel, of the fused kernel that it serves.
    o.kernel_id,
    -- Kind of insertion: 0 for a fused kernel, 1 for a conversion, 2 for a copy, 3 for a bias.
    CAST(3 AS BIGINT) AS insertion,
    -- Number of the kernel within its kind of insertion.
    a.operator_id AS insertion_id,
    -- Position in the order of issue; inserted kernels have fractional positions between fused kernels.
    o.kernel_id + 0.25e0 AS issue_place,
    -- Readable name of the kernel: the operator classes that the kernel fuses.
    'bias' AS kernel,
    -- Class of the anchor operator.
    'bias' AS kernel_class,
    -- Anchor of the kernel: the operator that determines the kernel's class.
    a.operator_id AS anchor_operator_id,
    -- ATen operator of the anchor; `*` for conversions and biases.
    '*' AS operator_name,
    -- Element type in which the policy asks the anchor to compute.
    op.precision AS compute_precision,
    -- Memory layout of the anchor's tensors: `nchw`, `nhwc` or `strided`.
    CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.run_layout END AS layout,
    -- Number of operators that the kernel executes.
    CAST(1 AS BIGINT) AS operator_count,
    -- Number of views that the host dispatches before the kernel.
    CAST(0 AS BIGINT) AS view_count,
    -- Bytes of activations and model inputs read. [byte]
    z.elements * p.bits / 8e0 AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    zb.elements * p.bits / 8e0 AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    0e0 AS kv_cache_byte,
    -- Bytes of results written. [byte]
    z.elements * p.bits / 8e0 AS output_byte,
    -- Part of the bytes read that an earlier kernel of the run wrote. [byte]
    z.elements * p.bits / 8e0 AS produced_byte,
    -- Size of the largest tensor read or written, weights excluded; the kernel loops over this tensor. [byte]
    z.elements * p.bits / 8e0 AS loop_byte
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.run.backend AND b.adds_bias_kernels
INNER JOIN added_bias AS a ON a.model = r.run.model
LEFT JOIN operator_layout AS l ON l.model = r.run.model AND l.memory_format = r.memory_format AND l.operator_id = a.operator_id
INNER JOIN tensor_size AS z
    ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = a.result_tensor_id
INNER JOIN tensor_size AS zb
    ON zb.model = r.run.model AND zb.batch = r.run.batch AND zb.sequence = r.run.sequence AND zb.context = r.context
    AND zb.logit_tokens = r.logit_tokens AND zb.chunk_count = r.chunk_count AND zb.tensor_id = a.bias_tensor_id
INNER JOIN kernel_operator AS o ON o.model = r.run.model AND o.backend = r.run.backend AND o.operator_id = a.operator_id
INNER JOIN operator_precision AS op ON op.model = r.run.model AND op.policy = r.run.precision AND op.operator_id = a.operator_id
INNER JOIN precision AS p ON p.precision = op.precision
