-- How much of a run could happen at once: stages of kernels at equal depth, the widest of them, the
-- critical path, and the speed-up that unlimited parallel kernels would give (Brent 1974: time is at least
-- the critical path and at most the sequential sum).
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW model_concurrency (
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
    -- Tokens processed a sample.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernels.
    kernel_count,
    -- Depths at which kernels start.
    stage_count,
    -- Stage with the most kernels, the first of equals.
    widest_stage,
    -- Kernels in it.
    widest_stage_kernels,
    -- Kernels a stage on average.
    mean_stage_kernels,
    -- Operations of the run.
    flops,
    -- Operations on the path with the most.
    critical_path_flops,
    -- Kernels on the path with the most.
    critical_path_kernels,
    -- Device time of all kernels, one after the other. [s]
    sequential_s,
    -- Device time of the slowest chain of dependent kernels. [s]
    critical_path_s,
    -- True when the graph's paths could be listed, so that critical_path_s is no mere upper bound.
    is_exact,
    -- Time of the run as executed, one kernel at a time. [s]
    latency_s,
    -- Least time with kernels side by side: the critical path, or issuing all kernels if that takes longer. [s]
    concurrent_s,
    -- sequential_s over critical_path_s: no schedule of these kernels is faster by more.
    speedup_bound,
    -- The same by operations instead of time.
    flops_speedup_bound,
    -- Sum of the kernels' local energy-delay products on the path with the most. [J s]
    critical_path_edp_js
) AS
WITH stage_sizes AS (
    SELECT model_id, backend, stage, COUNT(*) AS kernels
    FROM subgraph
    GROUP BY model_id, backend, stage
),

stage_totals AS (
    SELECT
        model_id,
        backend,
        COUNT(*) AS stage_count,
        MAX(kernels) AS widest_stage_kernels,
        MAX_BY(stage, CAST(kernels AS DOUBLE) - stage / 1e7) AS widest_stage,
        SUM(kernels) AS kernels
    FROM stage_sizes
    GROUP BY model_id, backend
)

SELECT
    l.model,
    c.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.model_id,
    l.scenario_id,
    c.hardware_id,
    c.kernel_count,
    CAST(s.stage_count AS BIGINT) AS stage_count,
    CAST(s.widest_stage AS BIGINT) AS widest_stage,
    CAST(s.widest_stage_kernels AS BIGINT) AS widest_stage_kernels,
    CAST(s.kernels AS DOUBLE) / NULLIF(CAST(s.stage_count AS DOUBLE), 0e0) AS mean_stage_kernels,
    c.flops,
    p.critical_path_flops,
    p.critical_path_kernels,
    c.device_s AS sequential_s,
    p.critical_path_s,
    p.critical_path_s <= p.critical_path_lower_s * (1e0 + 1e-9) AS is_exact,
    c.latency_s,
    LEAST(c.latency_s, GREATEST(p.critical_path_s, c.host_issue_s)) AS concurrent_s,
    c.device_s / NULLIF(p.critical_path_s, 0e0) AS speedup_bound,
    c.flops / NULLIF(p.critical_path_flops, 0e0) AS flops_speedup_bound,
    p.critical_path_edp_js
FROM model_cost AS c
INNER JOIN run_label AS l ON l.model_id = c.model_id AND l.scenario_id = c.scenario_id
INNER JOIN critical_path AS p
    ON p.model_id = c.model_id AND p.scenario_id = c.scenario_id AND p.hardware_id = c.hardware_id
INNER JOIN stage_totals AS s ON s.model_id = l.model_id AND s.backend = l.backend
