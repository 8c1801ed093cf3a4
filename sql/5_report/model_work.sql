-- What a whole run computes and moves, by backend.
-- Grain: model, backend, precision, batch, sequence, context, phase, memory_format
CREATE VIEW model_work (
    -- Name of the model.
    model,
    -- Backend.
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
    -- Kernels.
    kernel_count,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Weights read. [byte]
    weight_byte,
    -- Bytes that cross kernel borders. [byte]
    traffic_byte,
    -- Operations a byte moved. [ops/byte]
    arithmetic_intensity
) AS
WITH kernel_sums AS (
    SELECT
        model_id,
        scenario_id,
        CAST(COUNT(*) AS BIGINT) AS kernel_count,
        SUM(weight_byte) AS weight_byte,
        SUM(traffic_byte) AS traffic_byte
    FROM kernel_work
    GROUP BY model_id, scenario_id
),

part_sums AS (
    SELECT
        model_id,
        scenario_id,
        SUM(macs) AS macs,
        SUM(flops) AS flops
    FROM kernel_part
    GROUP BY model_id, scenario_id
),

run_sums AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.kernel_count,
        k.weight_byte,
        k.traffic_byte,
        p.macs,
        p.flops
    FROM kernel_sums AS k
    INNER JOIN part_sums AS p ON p.model_id = k.model_id AND p.scenario_id = k.scenario_id
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
    x.kernel_count,
    x.macs,
    x.flops,
    x.weight_byte,
    x.traffic_byte,
    x.flops / NULLIF(x.traffic_byte, 0e0) AS arithmetic_intensity
FROM run_sums AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
