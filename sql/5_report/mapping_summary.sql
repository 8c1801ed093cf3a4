-- How a run sits on a part as a whole: its kernels and its time by utilization, by bottleneck, and by kind
-- of unit.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, dimension, bucket
CREATE VIEW mapping_summary (
    -- Name of the model.
    model,
    -- Part.
    hardware,
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
    -- `utilization`, `bottleneck` or `unit`.
    dimension,
    -- `<10%`, `10-50%`, `50-90%` or `>=90%`; what sets the pace; `matrix` or `vector`.
    bucket,
    -- Kernels in it.
    kernel_count,
    -- What they add to the run. [s]
    latency_s,
    -- Share of the run's kernels.
    kernel_fraction,
    -- Share of the run's time.
    latency_fraction,
    -- True when the part has no silicon.
    is_simulated
) AS
WITH mapped_kernels AS (
    SELECT
        l.model,
        l.hardware,
        l.backend,
        l.precision,
        l.batch,
        l.sequence,
        l.context,
        l.phase,
        l.memory_format,
        l.model_id,
        l.scenario_id,
        l.latency_s,
        l.bottleneck,
        l.is_simulated,
        k.unit,
        CASE
            WHEN l.utilization_fraction >= 0.9e0 THEN '>=90%'
            WHEN l.utilization_fraction >= 0.5e0 THEN '50-90%'
            WHEN l.utilization_fraction >= 0.1e0 THEN '10-50%'
            ELSE '<10%'
        END AS utilization_bucket
    FROM subgraph_latency AS l
    INNER JOIN kernel_cost AS k
        ON k.model_id = l.model_id AND k.scenario_id = l.scenario_id
        AND k.hardware_id = l.hardware AND k.subgraph_id = l.subgraph_id
),

dimensions AS (
    SELECT 'utilization' AS dimension
    UNION ALL
    SELECT 'bottleneck' AS dimension
    UNION ALL
    SELECT 'unit' AS dimension
),

bucket_sums AS (
    SELECT
        k.model,
        k.hardware,
        k.backend,
        k.precision,
        k.batch,
        k.sequence,
        k.context,
        k.phase,
        k.memory_format,
        k.model_id,
        k.scenario_id,
        d.dimension,
        CASE d.dimension
            WHEN 'utilization' THEN k.utilization_bucket
            WHEN 'bottleneck' THEN k.bottleneck
            ELSE k.unit
        END AS bucket,
        COUNT(*) AS kernel_count,
        SUM(k.latency_s) AS latency_s,
        MAX(CASE WHEN k.is_simulated THEN 1 ELSE 0 END) = 1 AS is_simulated
    FROM mapped_kernels AS k
    CROSS JOIN dimensions AS d
    GROUP BY
        k.model,
        k.hardware,
        k.backend,
        k.precision,
        k.batch,
        k.sequence,
        k.context,
        k.phase,
        k.memory_format,
        k.model_id,
        k.scenario_id,
        d.dimension,
        CASE d.dimension
            WHEN 'utilization' THEN k.utilization_bucket
            WHEN 'bottleneck' THEN k.bottleneck
            ELSE k.unit
        END
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    context,
    phase,
    memory_format,
    model_id,
    scenario_id,
    dimension,
    bucket,
    CAST(kernel_count AS BIGINT) AS kernel_count,
    latency_s,
    kernel_count
    / NULLIF(CAST(SUM(kernel_count) OVER (PARTITION BY model_id, scenario_id, hardware, dimension) AS DOUBLE), 0e0)
        AS kernel_fraction,
    latency_s / NULLIF(SUM(latency_s) OVER (PARTITION BY model_id, scenario_id, hardware, dimension), 0e0)
        AS latency_fraction,
    is_simulated
FROM bucket_sums
