-- Copies of tensors whose strides an operator cannot use, run as separate kernels. Backends that follow strides make all copies.
-- Backends that plan layouts copy only convolution inputs, except images that a loop of the backend wrote.
-- Grain: run, insertion_id
CREATE VIEW copy_kernel AS
SELECT
    r.run,
    -- Number of the fused kernel; for an inserted kernel, of the fused kernel that it serves.
    ko.kernel_id,
    -- Kind of insertion: 0 for a fused kernel, 1 for a conversion, 2 for a copy, 3 for a bias.
    CAST(2 AS BIGINT) AS insertion,
    -- Number of the kernel within its kind of insertion.
    c.copy_id AS insertion_id,
    -- Position in the order of issue; inserted kernels have fractional positions between fused kernels.
    ko.kernel_id - 0.25e0 AS issue_place,
    -- Readable name of the kernel: the operator classes that the kernel fuses.
    'copy' AS kernel,
    -- Class of the anchor operator.
    'copy' AS kernel_class,
    -- Anchor of the kernel: the operator that determines the kernel's class.
    c.operator_id AS anchor_operator_id,
    -- ATen operator of the anchor; `*` for conversions and biases.
    CONCAT(SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2)) AS operator_name,
    -- Element type in which the policy asks the anchor to compute.
    op.precision AS compute_precision,
    -- Memory layout of the anchor's tensors: `nchw`, `nhwc` or `strided`.
    'strided' AS layout,
    -- Number of operators that the kernel executes.
    CAST(1 AS BIGINT) AS operator_count,
    -- Number of views that the host dispatches before the kernel.
    CAST(0 AS BIGINT) AS view_count,
    -- Bytes of activations and model inputs read. [byte]
    CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN 0e0 ELSE z.elements * p.bits / 8e0 END AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN z.elements * p.bits / 8e0 ELSE 0e0 END AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    0e0 AS kv_cache_byte,
    -- Bytes of results written. [byte]
    z.elements * p.bits / 8e0 AS output_byte,
    -- Part of the bytes read that an earlier kernel of the run wrote. [byte]
    CASE WHEN t.producer_operator_id IS NULL THEN 0e0 ELSE z.elements * p.bits / 8e0 END AS produced_byte,
    -- Size of the largest tensor read or written, weights excluded; the kernel loops over this tensor. [byte]
    z.elements * p.bits / 8e0 AS loop_byte
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.run.backend
INNER JOIN layout_copy AS c ON c.model = r.run.model AND c.memory_format = r.run_layout
INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
INNER JOIN operator_class AS oc ON oc.operator_class = o.operator_class
INNER JOIN tensor AS t ON t.model = c.model AND t.tensor_id = c.tensor_id
INNER JOIN tensor_size AS z
    ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = c.tensor_id
INNER JOIN kernel_operator AS ko ON ko.model = r.run.model AND ko.backend = r.run.backend AND ko.operator_id = c.operator_id
INNER JOIN operator_precision AS op ON op.model = r.run.model AND op.policy = r.run.precision AND op.operator_id = c.operator_id
INNER JOIN precision AS p ON p.precision = op.precision
LEFT JOIN edge AS e
    ON e.model = c.model AND e.consumer_operator_id = c.operator_id AND e.tensor_id = c.tensor_id AND e.position = 0
LEFT JOIN operator AS w ON w.model = t.model AND w.operator_id = t.producer_operator_id
LEFT JOIN operator_class AS wc ON wc.operator_class = w.operator_class
-- A backend that plans layouts passes images in one order to a convolution library, and converts weights with their casts. Loops of
-- the backend write an image in the requested order, a concatenation does not.
WHERE b.follows_strides
    OR (
        b.plans_layout AND oc.is_convolution AND t.role NOT IN ('weight', 'buffer', 'constant')
        AND (
            e.tensor_id IS NULL OR w.operator_id IS NULL OR w.is_view OR wc.is_matrix
            OR w.aten_operator IN ('aten.cat.default', 'aten.stack.default')
        )
    )
