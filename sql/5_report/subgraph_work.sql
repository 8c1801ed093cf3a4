-- What every kernel of a run computes and moves.
-- Grain: model, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id
CREATE VIEW subgraph_work (
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
    -- Kernel; conversions are numbered from 1,000,000.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Readable name: the operator classes it fuses.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Operators it executes.
    operator_count,
    -- Multiply-accumulates.
    macs,
    -- Operations: two a MAC plus all other arithmetic.
    flops,
    -- Activations and model inputs read. [byte]
    input_byte,
    -- Weights, buffers and constants read. [byte]
    weight_byte,
    -- KV-cache read. [byte]
    kv_cache_byte,
    -- Results written. [byte]
    output_byte,
    -- Everything that crosses its border. [byte]
    traffic_byte,
    -- Operations a byte moved. [ops/byte]
    arithmetic_intensity,
    -- Bucket of independent threads: `<1K`, `1K-10K`, `10K-100K`, `>100K`.
    parallelism
) AS
WITH summed_parts AS (
    SELECT
        model_id,
        scenario_id,
        subgraph_id,
        SUM(macs) AS macs,
        SUM(flops) AS flops,
        MAX(threads) AS threads
    FROM kernel_part
    GROUP BY model_id, scenario_id, subgraph_id
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
    x.subgraph_id,
    x.position,
    x.subgraph,
    x.kernel_class,
    x.operator_count,
    COALESCE(s.macs, 0e0) AS macs,
    COALESCE(s.flops, 0e0) AS flops,
    x.input_byte,
    x.weight_byte,
    x.kv_cache_byte,
    x.output_byte,
    x.traffic_byte,
    s.flops / NULLIF(x.traffic_byte, 0e0) AS arithmetic_intensity,
    CASE
        WHEN s.threads >= 1e5 THEN '>100K'
        WHEN s.threads >= 1e4 THEN '10K-100K'
        WHEN s.threads >= 1e3 THEN '1K-10K'
        ELSE '<1K'
    END AS parallelism
FROM kernel_work AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
LEFT JOIN summed_parts AS s
    ON s.model_id = x.model_id AND s.scenario_id = x.scenario_id AND s.subgraph_id = x.subgraph_id
