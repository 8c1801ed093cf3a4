-- What every kernel of a run computes and moves: the subgraphs of its backend, the conversions its precision
-- policy inserts where the backend runs them as kernels of their own, the copies that operators make of tensors
-- whose strides they cannot take (all of them where the backend follows strides, those of convolutions where it plans
-- layouts), and the biases of convolutions where the backend adds them by kernels of their own on some part (which
-- parts: `target.bias_is_kernel`).
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW kernel_work (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel; conversions are numbered from 1,000,000, copies of operands from 2,000,000, biases from 3,000,000.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Readable name: the operator classes it fuses.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Operator that gives it its character.
    anchor_operator_id,
    -- Element type its anchor computes in.
    precision,
    -- How its tensors lie in memory: `nchw`, `nhwc` or `strided`.
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
    traffic_byte
) AS
WITH fused_kernels AS (
    SELECT
        r.model_id,
        r.scenario_id,
        s.subgraph_id,
        CAST(s.subgraph_id AS DOUBLE) AS position,
        s.subgraph,
        s.kernel_class,
        s.anchor_operator_id,
        op.precision,
        CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.layout END AS layout,
        s.operator_count,
        s.view_count,
        COALESCE(t.input_byte, 0e0) AS input_byte,
        COALESCE(t.weight_byte, 0e0) AS weight_byte,
        COALESCE(t.kv_cache_byte, 0e0) AS kv_cache_byte,
        COALESCE(t.output_byte, 0e0) AS output_byte,
        COALESCE(t.produced_byte, 0e0) AS produced_byte,
        COALESCE(t.largest_byte, 0e0) AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN subgraph AS s ON s.model_id = r.model_id AND s.backend = r.backend
    LEFT JOIN operator_layout AS l
        ON l.model_id = r.model_id AND l.memory_format = r.memory_format AND l.operator_id = s.anchor_operator_id
        AND b.follows_strides
    INNER JOIN operator_precision AS op
        ON op.model_id = r.model_id AND op.policy = r.policy AND op.operator_id = s.anchor_operator_id
    -- What turns out to be a view moves nothing.
    LEFT JOIN kernel_traffic AS t
        ON t.model_id = r.model_id AND t.scenario_id = r.scenario_id AND t.subgraph_id = s.subgraph_id
        AND l.layout IS DISTINCT FROM 'view'
),

cast_kernels AS (
    SELECT
        r.model_id,
        r.scenario_id,
        1000000 + c.cast_id AS subgraph_id,
        so.subgraph_id - 0.5e0 AS position,
        'cast' AS subgraph,
        'cast' AS kernel_class,
        c.operator_id AS anchor_operator_id,
        c.to_precision AS precision,
        r.layout,
        1 AS operator_count,
        0 AS view_count,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN 0e0 ELSE z.elements * pf.bits / 8e0 END
            AS input_byte,
        CASE WHEN t.role IN ('weight', 'buffer', 'constant') THEN z.elements * pf.bits / 8e0 ELSE 0e0 END
            AS weight_byte,
        0e0 AS kv_cache_byte,
        z.elements * pt.bits / 8e0 AS output_byte,
        CASE WHEN t.producer_operator_id IS NULL THEN 0e0 ELSE z.elements * pf.bits / 8e0 END AS produced_byte,
        z.elements * pt.bits / 8e0 AS loop_byte
    FROM run AS r
    INNER JOIN backend AS b ON b.backend = r.backend
    INNER JOIN precision_cast AS c ON c.model_id = r.model_id AND c.policy = r.policy
    INNER JOIN tensor AS t ON t.model_id = c.model_id AND t.tensor_id = c.tensor_id
    INNER JOIN tensor_size AS z
        ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = c.tensor_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = r.model_id AND so.backend = r.backend AND so.operator_id = c.operator_id
    INNER JOIN precision AS pf ON pf.precision = c.from_precision
    INNER JOIN precision AS pt ON pt.precision = c.to_precision
    WHERE CASE
        WHEN t.role IN ('weight', 'buffer', 'constant') THEN b.weight_casts_are_kernels
        ELSE b.casts_are_kernels
    END
),

copy_kernels AS (
    SELECT
        r.model_id,
        r.scenario_id,
        2000000 + c.copy_id AS subgraph_id,
        so.subgraph_id - 0.25e0 AS position,
        'copy' AS subgraph,
        'copy' AS kernel_class,
        c.operator_id AS anchor_operator_id,
        op.precision,
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
    INNER JOIN layout_copy AS c ON c.model_id = r.model_id AND c.memory_format = r.layout
    INNER JOIN operator AS o ON o.model_id = c.model_id AND o.operator_id = c.operator_id
    INNER JOIN tensor AS t ON t.model_id = c.model_id AND t.tensor_id = c.tensor_id
    INNER JOIN tensor_size AS z
        ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = c.tensor_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = r.model_id AND so.backend = r.backend AND so.operator_id = c.operator_id
    INNER JOIN operator_precision AS op
        ON op.model_id = r.model_id AND op.policy = r.policy AND op.operator_id = c.operator_id
    INNER JOIN precision AS p ON p.precision = op.precision
    -- A backend that plans its layouts still hands convolutions to a library, images whole and in one order; weights
    -- it converts with their casts.
    WHERE b.follows_strides
        OR (
            b.plans_layout AND t.role NOT IN ('weight', 'buffer', 'constant')
            AND o.operator_class IN ('conv', 'depthwise_conv', 'conv_transposed')
        )
),

bias_kernels AS (
    SELECT
        r.model_id,
        r.scenario_id,
        3000000 + a.operator_id AS subgraph_id,
        so.subgraph_id + 0.25e0 AS position,
        'bias' AS subgraph,
        'bias' AS kernel_class,
        a.operator_id AS anchor_operator_id,
        op.precision,
        CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.layout END AS layout,
        1 AS operator_count,
        0 AS view_count,
        z.elements * p.bits / 8e0 AS input_byte,
        zb.elements * p.bits / 8e0 AS weight_byte,
        0e0 AS kv_cache_byte,
        z.elements * p.bits / 8e0 AS output_byte,
        z.elements * p.bits / 8e0 AS produced_byte,
        z.elements * p.bits / 8e0 AS loop_byte
    FROM run AS r
    INNER JOIN (SELECT DISTINCT backend FROM backend_support WHERE bias_is_kernel) AS s ON s.backend = r.backend
    INNER JOIN added_bias AS a ON a.model_id = r.model_id
    LEFT JOIN operator_layout AS l
        ON l.model_id = r.model_id AND l.memory_format = r.memory_format AND l.operator_id = a.operator_id
    INNER JOIN tensor_size AS z
        ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = a.result_tensor_id
    INNER JOIN tensor_size AS zb
        ON zb.model_id = r.model_id AND zb.scenario_id = r.scenario_id AND zb.tensor_id = a.bias_tensor_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = r.model_id AND so.backend = r.backend AND so.operator_id = a.operator_id
    INNER JOIN operator_precision AS op
        ON op.model_id = r.model_id AND op.policy = r.policy AND op.operator_id = a.operator_id
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
)

SELECT
    model_id,
    scenario_id,
    subgraph_id,
    position,
    subgraph,
    kernel_class,
    anchor_operator_id,
    precision,
    layout,
    operator_count,
    view_count,
    input_byte,
    weight_byte,
    kv_cache_byte,
    output_byte,
    produced_byte,
    loop_byte,
    input_byte + weight_byte + kv_cache_byte + output_byte AS traffic_byte
FROM all_kernels
