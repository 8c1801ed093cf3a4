-- Concurrency of a run: the stages (kernels at equal depth in the graph), the widest stage, the critical path, and the speedup with
-- unlimited concurrent kernels (Brent 1974: time is at least the critical path and at most the sequential sum).
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_concurrency AS
WITH stage_sizes AS (
    SELECT model, backend, stage, COUNT(*) AS kernels
    FROM kernel
    GROUP BY model, backend, stage
),

stage_totals AS (
    SELECT
        model,
        backend,
        COUNT(*) AS stage_count,
        MAX(kernels) AS widest_stage_kernels,
        MAX_BY(stage, kernels - stage / 1e7) AS widest_stage,
        SUM(kernels) AS fused_kernel_count
    FROM stage_sizes
    GROUP BY model, backend
)

SELECT
    p.model,
    p.hardware,
    p.backend,
    p.precision,
    p.batch,
    p.sequence,
    p.scenario_id,
    r.context,
    r.phase,
    p.kernel_count,
    -- Number of kernels that run the model's operators, without inserted kernels.
    CAST(s.fused_kernel_count AS BIGINT) AS fused_kernel_count,
    -- Number of stages.
    s.stage_count,
    -- Stage with the most kernels; the first in a tie.
    s.widest_stage,
    -- Number of kernels in the widest stage.
    s.widest_stage_kernels,
    -- Mean number of kernels per stage.
    s.fused_kernel_count / NULLIF(CAST(s.stage_count AS DOUBLE), 0e0) AS mean_stage_kernels,
    p.flops,
    p.critical_path_flops,
    p.critical_path_kernels,
    p.sequential_s,
    p.critical_path_s,
    p.critical_path_lower_s,
    -- True if `critical_path_s` is exact, because all paths of the graph could be listed; otherwise it is an upper bound.
    p.critical_path_s <= p.critical_path_lower_s * (1e0 + 1e-9) AS is_exact,
    p.latency_s,
    -- Least time with concurrent kernels: the critical path, or the time to issue all kernels if that is longer. [s]
    LEAST(p.latency_s, GREATEST(p.critical_path_s, p.host_issue_s)) AS concurrent_s,
    -- Ratio of `sequential_s` to `critical_path_s`, an upper bound of the speedup by concurrency.
    p.sequential_s / NULLIF(p.critical_path_s, 0e0) AS speedup_bound,
    -- Ratio of the run's operations to the operations on the critical path.
    p.flops / NULLIF(p.critical_path_flops, 0e0) AS flops_speedup_bound,
    p.critical_path_edp_js
FROM critical_path AS p
INNER JOIN run AS r
    ON r.run.model = p.model AND r.run.backend = p.backend AND r.run.precision = p.precision AND r.run.batch = p.batch
    AND r.run.sequence = p.sequence AND r.run.scenario_id = p.scenario_id
INNER JOIN stage_totals AS s ON s.model = p.model AND s.backend = p.backend
