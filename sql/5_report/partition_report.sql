-- How a run divides into kernels: counts and shares by class, by independent threads and by arithmetic
-- intensity.
-- Grain: model_id, scenario_id, aspect, bucket
CREATE VIEW partition_report (
    -- Name of the model.
    model,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- By what kernels are grouped: `class`, `threads` or `intensity`.
    aspect,
    -- The group, e.g. `conv`, `1K-10K`, `10-100 ops/byte`.
    bucket,
    -- Order of the groups within the aspect.
    bucket_order,
    -- Kernels.
    kernel_count,
    -- Their operations.
    flops,
    -- Share of the run's operations.
    flops_fraction,
    -- Bytes across their borders. [byte]
    traffic_byte,
    -- Share of the run's traffic.
    traffic_fraction
) AS
WITH part_sums AS (
    SELECT model_id, scenario_id, subgraph_id, SUM(flops) AS flops, MAX(threads) AS threads
    FROM kernel_part
    GROUP BY model_id, scenario_id, subgraph_id
),

kernels AS (
    SELECT
        w.model_id,
        w.scenario_id,
        w.kernel_class,
        w.traffic_byte,
        COALESCE(p.flops, 0e0) AS flops,
        COALESCE(p.threads, 0e0) AS threads,
        COALESCE(p.flops, 0e0) / NULLIF(w.traffic_byte, 0e0) AS arithmetic_intensity
    FROM kernel_work AS w
    LEFT JOIN part_sums AS p
        ON p.model_id = w.model_id AND p.scenario_id = w.scenario_id AND p.subgraph_id = w.subgraph_id
),

aspects AS (
    SELECT 'class' AS aspect
    UNION ALL
    SELECT 'threads' AS aspect
    UNION ALL
    SELECT 'intensity' AS aspect
),

bucketed_kernels AS (
    SELECT
        k.*,
        a.aspect,
        CASE
            WHEN a.aspect = 'class' THEN 0
            WHEN a.aspect = 'threads'
                THEN CASE WHEN threads < 1e3 THEN 1 WHEN threads < 1e4 THEN 2 WHEN threads < 1e5 THEN 3 ELSE 4 END
            WHEN arithmetic_intensity >= 1e2 THEN 4
            WHEN arithmetic_intensity >= 1e1 THEN 3
            WHEN arithmetic_intensity >= 1e0 THEN 2
            ELSE 1
        END AS bucket_order
    FROM kernels AS k
    CROSS JOIN aspects AS a
),

named_kernels AS (
    SELECT
        *,
        CASE
            WHEN aspect = 'class' THEN kernel_class
            WHEN aspect = 'threads'
                THEN CASE bucket_order WHEN 1 THEN '<1K' WHEN 2 THEN '1K-10K' WHEN 3 THEN '10K-100K' ELSE '>100K' END
            ELSE
                CASE bucket_order
                    WHEN 1 THEN '<1 ops/byte' WHEN 2 THEN '1-10 ops/byte' WHEN 3 THEN '10-100 ops/byte'
                    ELSE '>100 ops/byte'
                END
        END AS bucket
    FROM bucketed_kernels
),

bucket_sums AS (
    SELECT
        model_id,
        scenario_id,
        aspect,
        bucket,
        bucket_order,
        COUNT(*) AS kernel_count,
        SUM(flops) AS flops,
        SUM(traffic_byte) AS traffic_byte
    FROM named_kernels
    GROUP BY model_id, scenario_id, aspect, bucket, bucket_order
),

shares AS (
    SELECT
        *,
        SUM(flops) OVER (PARTITION BY model_id, scenario_id, aspect) AS all_flops,
        SUM(traffic_byte) OVER (PARTITION BY model_id, scenario_id, aspect) AS all_traffic_byte
    FROM bucket_sums
)

SELECT
    l.model,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    s.model_id,
    s.scenario_id,
    s.aspect,
    s.bucket,
    CAST(s.bucket_order AS BIGINT) AS bucket_order,
    CAST(s.kernel_count AS BIGINT) AS kernel_count,
    s.flops,
    s.flops / NULLIF(s.all_flops, 0e0) AS flops_fraction,
    s.traffic_byte,
    s.traffic_byte / NULLIF(s.all_traffic_byte, 0e0) AS traffic_fraction
FROM shares AS s
INNER JOIN run_label AS l ON l.model_id = s.model_id AND l.scenario_id = s.scenario_id
