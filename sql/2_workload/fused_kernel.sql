-- Fused kernels of a run under its backend, with the bytes that they move.
-- Grain: run, insertion_id
CREATE VIEW fused_kernel AS
SELECT
    r.run,
    -- Number of the fused kernel; for an inserted kernel, of the fused kernel that it serves.
    k.kernel_id,
    -- Kind of insertion: 0 for a fused kernel, 1 for a conversion, 2 for a copy, 3 for a bias.
    CAST(0 AS BIGINT) AS insertion,
    -- Number of the kernel within its kind of insertion.
    k.kernel_id AS insertion_id,
    -- Position in the order of issue; inserted kernels have fractional positions between fused kernels.
    CAST(k.kernel_id AS DOUBLE) AS issue_place,
    -- Readable name of the kernel: the operator classes that the kernel fuses.
    k.kernel,
    -- Class of the anchor operator.
    k.kernel_class,
    -- Anchor of the kernel: the operator that determines the kernel's class.
    k.anchor_operator_id,
    -- ATen operator of the anchor, with `_masked` appended for an attention with a mask, for which libraries use other kernels; `*`
    -- for conversions and biases.
    CONCAT(
        SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2),
        CASE WHEN e.position IS NOT NULL THEN '_masked' ELSE '' END
    ) AS operator_name,
    -- Element type in which the policy asks the anchor to compute.
    op.precision AS compute_precision,
    -- Memory layout of the anchor's tensors: `nchw`, `nhwc` or `strided`.
    CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.run_layout END AS layout,
    -- Number of operators that the kernel executes.
    k.operator_count,
    -- Number of views that the host dispatches before the kernel.
    k.view_count,
    -- Bytes of activations and model inputs read. [byte]
    COALESCE(t.input_byte, 0e0) AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    COALESCE(t.weight_byte, 0e0) AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    COALESCE(t.kv_cache_byte, 0e0) AS kv_cache_byte,
    -- Bytes of results written. [byte]
    COALESCE(t.output_byte, 0e0) AS output_byte,
    -- Part of the bytes read that an earlier kernel of the run wrote. [byte]
    COALESCE(t.produced_byte, 0e0) AS produced_byte,
    -- Size of the largest tensor read or written, weights excluded; the kernel loops over this tensor. [byte]
    COALESCE(t.largest_byte, 0e0) AS loop_byte
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.run.backend
INNER JOIN kernel AS k ON k.model = r.run.model AND k.backend = r.run.backend
INNER JOIN operator AS o ON o.model = r.run.model AND o.operator_id = k.anchor_operator_id
INNER JOIN operator_precision AS op
    ON op.model = r.run.model AND op.policy = r.run.precision AND op.operator_id = k.anchor_operator_id
-- The mask is the operand after queries, keys and values.
LEFT JOIN edge AS e
    ON e.model = r.run.model AND e.consumer_operator_id = k.anchor_operator_id AND e.position = 3 AND k.kernel_class = 'attention'
LEFT JOIN operator_layout AS l
    ON l.model = r.run.model AND l.memory_format = r.memory_format AND l.operator_id = k.anchor_operator_id AND b.follows_strides
-- An operator that is a view moves no bytes.
LEFT JOIN kernel_traffic AS t ON t.run = r.run AND t.kernel_id = k.kernel_id AND l.layout IS DISTINCT FROM 'view'
