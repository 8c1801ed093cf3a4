-- Mapping of a whole run to a part: number and time of the run's kernels (`kernel_mapping`) by utilization, by bottleneck and by
-- kind of unit. Costs paid once per run belong to no kernel.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, dimension, bucket
CREATE VIEW mapping_summary AS
WITH dimensions AS (
    SELECT 'utilization' AS dimension
    UNION ALL
    SELECT 'bottleneck' AS dimension
    UNION ALL
    SELECT 'unit' AS dimension
),

bucketed_kernels AS (
    SELECT
        k.*,
        d.dimension,
        CASE d.dimension WHEN 'utilization' THEN k.utilization_bucket WHEN 'bottleneck' THEN k.bottleneck ELSE k.unit END
            AS bucket
    FROM kernel_mapping AS k
    CROSS JOIN dimensions AS d
),

bucket_sums AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        context,
        phase,
        memory_format,
        is_simulated,
        dimension,
        bucket,
        COUNT(*) AS kernel_count,
        SUM(latency_s) AS latency_s
    FROM bucketed_kernels
    GROUP BY
        model, hardware, backend, precision, batch, sequence, scenario_id, context, phase, memory_format, is_simulated,
        dimension, bucket
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    -- Property by which kernels are grouped: `utilization`, `bottleneck` or `unit`.
    dimension,
    -- Group: a range of utilization (`<10%`, `10-50%`, `50-90%` or `>=90%`), a bottleneck, or a kind of unit (`matrix` or
    -- `vector`).
    bucket,
    -- Number of kernels in the group.
    CAST(kernel_count AS BIGINT) AS kernel_count,
    -- Time that the group's kernels add to the run. [s]
    latency_s,
    -- Share of the run's kernels.
    kernel_count / NULLIF(CAST(SUM(kernel_count) OVER (
        PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, dimension
    ) AS DOUBLE), 0e0) AS kernel_fraction,
    -- Share of the time of all kernels.
    latency_s / NULLIF(SUM(latency_s) OVER (
        PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, dimension
    ), 0e0) AS latency_fraction,
    is_simulated
FROM bucket_sums
