-- What every kernel of a run computes and moves: the fused kernels of its backend, the conversions its precision policy
-- inserts where the backend runs them as kernels of their own, the copies that operators make of tensors whose strides
-- they cannot take (all of them where the backend follows strides, those of convolutions where it plans layouts), and the
-- biases of convolutions where the backend adds them by kernels of their own on some parts
-- (`part_support.bias_is_kernel`).
-- Grain: model, scenario_id, kernel_id
CREATE VIEW executed_kernel AS
WITH fused_kernels AS (
    SELECT
        r.model,
        r.scenario_id,
        k.kernel_id,
        0 AS insertion,
        k.kernel_id AS insertion_id,
        CAST(k.kernel_id AS DOUBLE) AS issue_place,
        k.kernel,
        k.kernel_class,
        k.anchor_operator_id,
        CONCAT(SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2)) AS operator_name,
        op.precision AS compute_precision,
        CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.run_layout END AS layout,
        k.operator_count,
        k.view_count,
        COALESCE(t.input_byte, 0e0) AS input_byte,
        COALESCE(t.weight_byte, 0e0) AS weight_byte,
        COALESCE(t.kv_cache_byte, 0e0) AS kv_cache_byte,
        COALESCE(t.output_byte, 0e0) AS output_byte,
        COALESCE(t.produced_byte, 0e0) AS produced_byte,
        COALESCE(t.largest_byte, 0e0) AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN kernel AS k ON k.model = r.model AND k.backend = r.backend
    INNER JOIN operator AS o ON o.model = r.model AND o.operator_id = k.anchor_operator_id
    INNER JOIN operator_precision AS op
        ON op.model = r.model AND op.policy = r.precision AND op.operator_id = k.anchor_operator_id
    LEFT JOIN operator_layout AS l
        ON l.model = r.model AND l.memory_format = r.memory_format AND l.operator_id = k.anchor_operator_id
        AND b.follows_strides
    -- What turns out to be a view moves nothing.
    LEFT JOIN kernel_traffic AS t
        ON t.model = r.model AND t.scenario_id = r.scenario_id AND t.kernel_id = k.kernel_id
        AND l.layout IS DISTINCT FROM 'view'
),

cast_kernels AS (
    SELECT
        r.model,
        r.scenario_id,
        o.kernel_id,
        1 AS insertion,
        c.cast_id AS insertion_id,
        o.kernel_id - 0.5e0 AS issue_place,
        'cast' AS kernel,
        'cast' AS kernel_class,
        c.operator_id AS anchor_operator_id,
        '*' AS operator_name,
        c.to_precision AS compute_precision,
        r.run_layout AS layout,
        1 AS operator_count,
        0 AS view_count,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN 0e0 ELSE z.elements * pf.bits / 8e0 END AS input_byte,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN z.elements * pf.bits / 8e0 ELSE 0e0 END AS weight_byte,
        0e0 AS kv_cache_byte,
        z.elements * pt.bits / 8e0 AS output_byte,
        CASE WHEN t.producer_operator_id IS NULL THEN 0e0 ELSE z.elements * pf.bits / 8e0 END AS produced_byte,
        z.elements * pt.bits / 8e0 AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN precision_cast AS c ON c.model = r.model AND c.policy = r.precision
    INNER JOIN tensor AS t ON t.model = c.model AND t.tensor_id = c.tensor_id
    INNER JOIN tensor_size AS z ON z.model = r.model AND z.scenario_id = r.scenario_id AND z.tensor_id = c.tensor_id
    INNER JOIN kernel_operator AS o ON o.model = r.model AND o.backend = r.backend AND o.operator_id = c.operator_id
    INNER JOIN precision AS pf ON pf.precision = c.from_precision
    INNER JOIN precision AS pt ON pt.precision = c.to_precision
    WHERE CASE
        WHEN t.role IN ('weight', 'buffer', 'constant') THEN b.weight_casts_are_kernels
        ELSE b.casts_are_kernels
    END
),

copy_kernels AS (
    SELECT
        r.model,
        r.scenario_id,
        ko.kernel_id,
        2 AS insertion,
        c.copy_id AS insertion_id,
        ko.kernel_id - 0.25e0 AS issue_place,
        'copy' AS kernel,
        'copy' AS kernel_class,
        c.operator_id AS anchor_operator_id,
        CONCAT(SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2)) AS operator_name,
        op.precision AS compute_precision,
        'strided' AS layout,
        1 AS operator_count,
        0 AS view_count,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN 0e0 ELSE z.elements * p.bits / 8e0 END AS input_byte,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN z.elements * p.bits / 8e0 ELSE 0e0 END AS weight_byte,
        0e0 AS kv_cache_byte,
        z.elements * p.bits / 8e0 AS output_byte,
        CASE WHEN t.producer_operator_id IS NULL THEN 0e0 ELSE z.elements * p.bits / 8e0 END AS produced_byte,
        z.elements * p.bits / 8e0 AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN layout_copy AS c ON c.model = r.model AND c.memory_format = r.run_layout
    INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
    INNER JOIN operator_class AS oc ON oc.operator_class = o.operator_class
    INNER JOIN tensor AS t ON t.model = c.model AND t.tensor_id = c.tensor_id
    INNER JOIN tensor_size AS z ON z.model = r.model AND z.scenario_id = r.scenario_id AND z.tensor_id = c.tensor_id
    INNER JOIN kernel_operator AS ko ON ko.model = r.model AND ko.backend = r.backend AND ko.operator_id = c.operator_id
    INNER JOIN operator_precision AS op
        ON op.model = r.model AND op.policy = r.precision AND op.operator_id = c.operator_id
    INNER JOIN precision AS p ON p.precision = op.precision
    -- A backend that plans its layouts still hands convolutions to a library, images whole and in one order; weights
    -- it converts with their casts.
    WHERE b.follows_strides
        OR (b.plans_layout AND oc.is_convolution AND t.role NOT IN ('weight', 'buffer', 'constant'))
),

bias_kernels AS (
    SELECT
        r.model,
        r.scenario_id,
        o.kernel_id,
        3 AS insertion,
        a.operator_id AS insertion_id,
        o.kernel_id + 0.25e0 AS issue_place,
        'bias' AS kernel,
        'bias' AS kernel_class,
        a.operator_id AS anchor_operator_id,
        '*' AS operator_name,
        op.precision AS compute_precision,
        CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.run_layout END AS layout,
        1 AS operator_count,
        0 AS view_count,
        z.elements * p.bits / 8e0 AS input_byte,
        zb.elements * p.bits / 8e0 AS weight_byte,
        0e0 AS kv_cache_byte,
        z.elements * p.bits / 8e0 AS output_byte,
        z.elements * p.bits / 8e0 AS produced_byte,
        z.elements * p.bits / 8e0 AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend AND b.adds_bias_kernels
    INNER JOIN added_bias AS a ON a.model = r.model
    LEFT JOIN operator_layout AS l
        ON l.model = r.model AND l.memory_format = r.memory_format AND l.operator_id = a.operator_id
    INNER JOIN tensor_size AS z
        ON z.model = r.model AND z.scenario_id = r.scenario_id AND z.tensor_id = a.result_tensor_id
    INNER JOIN tensor_size AS zb
        ON zb.model = r.model AND zb.scenario_id = r.scenario_id AND zb.tensor_id = a.bias_tensor_id
    INNER JOIN kernel_operator AS o ON o.model = r.model AND o.backend = r.backend AND o.operator_id = a.operator_id
    INNER JOIN operator_precision AS op
        ON op.model = r.model AND op.policy = r.precision AND op.operator_id = a.operator_id
    INNER JOIN precision AS p ON p.precision = op.precision
),

all_kernels AS (
    SELECT * FROM fused_kernels
    UNION ALL
    SELECT * FROM cast_kernels
    UNION ALL
    SELECT * FROM copy_kernels
    UNION ALL
    SELECT * FROM bias_kernels
),

-- Inserted kernels are numbered after the fused ones.
numbered_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, scenario_id ORDER BY issue_place, insertion, insertion_id
        ) - 1 AS position,
        ROW_NUMBER() OVER (PARTITION BY model, scenario_id ORDER BY insertion, insertion_id) - 1 AS number
    FROM all_kernels
)

SELECT
    model,
    scenario_id,
    -- Kernel; conversions, copies and biases that the backend inserts are numbered after the fused ones.
    CASE WHEN insertion = 0 THEN kernel_id ELSE number END AS kernel_id,
    -- Fused kernel that it is, or is made for.
    kernel_id AS fused_kernel_id,
    -- Place in the order of execution, from 0.
    position,
    -- Readable name: the operator classes it fuses.
    kernel,
    -- Class of its anchor operator.
    kernel_class,
    -- Operator that gives it its character.
    anchor_operator_id,
    -- ATen operator of its anchor; `*` in conversions and biases.
    operator_name,
    -- Element type its anchor is asked to compute in.
    compute_precision,
    -- How its anchor's tensors lie in memory: `nchw`, `nhwc` or `strided`.
    layout,
    -- Operators it executes.
    operator_count,
    -- Views the host dispatches before it.
    view_count,
    -- Activations and model inputs read. [byte]
    input_byte,
    -- Weights, buffers and constants read. [byte]
    weight_byte,
    -- KV-cache read. [byte]
    kv_cache_byte,
    -- Results written. [byte]
    output_byte,
    -- Part of the reads that an earlier kernel of the run wrote. [byte]
    produced_byte,
    -- Largest of what it reads and writes but weights: what its loop goes over. [byte]
    loop_byte,
    -- Everything that crosses its border. [byte]
    input_byte + weight_byte + kv_cache_byte + output_byte AS traffic_byte
FROM numbered_kernels
