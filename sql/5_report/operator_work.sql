-- What every operator computes and moves when it runs alone, unfused.
-- Grain: model, precision, batch, sequence, context, operator_id, backend, phase, memory_format
CREATE VIEW operator_work (
    -- Name of the model.
    model,
    -- Backend of the scenario; the work does not depend on it.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Position in execution order.
    operator_id,
    -- Name of the node.
    operator,
    -- Class of the operator.
    operator_class,
    -- Dotted path of the module it comes from.
    module,
    -- Element type it computes in.
    compute_precision,
    -- Multiply-accumulates.
    macs,
    -- Operations: two a MAC plus all other arithmetic.
    flops,
    -- Independent output elements.
    threads,
    -- Activations and model inputs read. [byte]
    input_byte,
    -- Weights, buffers and constants read. [byte]
    weight_byte,
    -- KV-cache read. [byte]
    kv_cache_byte,
    -- Results written. [byte]
    output_byte,
    -- Operations a byte moved. [ops/byte]
    arithmetic_intensity
) AS
WITH operator_sums AS (
    SELECT
        model_id,
        scenario_id,
        operator_id,
        SUM(macs) AS macs,
        SUM(flops) AS flops,
        MAX(threads) AS threads
    FROM part_size
    GROUP BY model_id, scenario_id, operator_id
),

unfused_bytes AS (
    SELECT
        r.model_id,
        r.scenario_id,
        b.operator_id,
        SUM(CASE WHEN b.direction = 'read' AND b.role = 'input' THEN b.moved_byte ELSE 0e0 END) AS input_byte,
        SUM(CASE WHEN b.direction = 'read' AND b.role = 'weight' THEN b.moved_byte ELSE 0e0 END) AS weight_byte,
        SUM(CASE WHEN b.direction = 'read' AND b.role = 'kv_cache' THEN b.moved_byte ELSE 0e0 END) AS kv_cache_byte,
        SUM(CASE WHEN b.direction = 'write' THEN b.moved_byte ELSE 0e0 END) AS output_byte
    FROM run AS r
    INNER JOIN border_byte AS b ON b.model_id = r.model_id AND b.scenario_id = r.scenario_id
    WHERE b.backend = 'eager'
    GROUP BY r.model_id, r.scenario_id, b.operator_id
)

SELECT
    l.model,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.memory_format,
    l.model_id,
    l.scenario_id,
    o.operator_id,
    o.operator,
    o.operator_class,
    md.path AS module,
    op.precision AS compute_precision,
    COALESCE(s.macs, 0e0) AS macs,
    COALESCE(s.flops, 0e0) AS flops,
    COALESCE(s.threads, 0e0) AS threads,
    COALESCE(b.input_byte, 0e0) AS input_byte,
    COALESCE(b.weight_byte, 0e0) AS weight_byte,
    COALESCE(b.kv_cache_byte, 0e0) AS kv_cache_byte,
    COALESCE(b.output_byte, 0e0) AS output_byte,
    s.flops / NULLIF(b.input_byte + b.weight_byte + b.kv_cache_byte + b.output_byte, 0e0) AS arithmetic_intensity
FROM run_label AS l
INNER JOIN operator AS o ON o.model_id = l.model_id
INNER JOIN module AS md ON md.model_id = o.model_id AND md.module_id = o.module_id
INNER JOIN operator_precision AS op
    ON op.model_id = l.model_id AND op.policy = l.precision AND op.operator_id = o.operator_id
LEFT JOIN operator_sums AS s
    ON s.model_id = l.model_id AND s.scenario_id = l.scenario_id AND s.operator_id = o.operator_id
LEFT JOIN unfused_bytes AS b
    ON b.model_id = l.model_id AND b.scenario_id = l.scenario_id AND b.operator_id = o.operator_id
