-- Checks of the concurrency report: inequalities between its stages, critical path and times.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, line
CREATE VIEW concurrency_check AS
WITH lines AS (
    SELECT *
    FROM (
        VALUES
        ('critical path within sequential time [s]'),
        ('lower bound within critical path [s]'),
        ('critical path within all operations [op]'),
        ('stages within kernels'),
        ('stages within kernels of the longest path'),
        ('kernels'' device time within the run [s]')
    ) AS l (line)
),

compared_values AS (
    SELECT
        c.model,
        c.hardware,
        c.backend,
        c.precision,
        c.batch,
        c.sequence,
        c.scenario_id,
        l.line,
        CASE l.line
            WHEN 'critical path within sequential time [s]' THEN c.critical_path_s
            WHEN 'lower bound within critical path [s]' THEN c.critical_path_lower_s
            WHEN 'critical path within all operations [op]' THEN c.critical_path_flops
            WHEN 'kernels'' device time within the run [s]' THEN c.sequential_s
            ELSE c.stage_count
        END AS value,
        CASE l.line
            WHEN 'critical path within sequential time [s]' THEN c.sequential_s
            WHEN 'lower bound within critical path [s]' THEN c.critical_path_s
            WHEN 'critical path within all operations [op]' THEN c.flops
            WHEN 'kernels'' device time within the run [s]' THEN c.latency_s
            WHEN 'stages within kernels' THEN c.fused_kernel_count
            ELSE c.critical_path_kernels
        END AS bound
    FROM model_concurrency AS c
    CROSS JOIN lines AS l
)

SELECT
    v.model,
    v.hardware,
    v.backend,
    v.precision,
    v.batch,
    v.sequence,
    v.scenario_id,
    -- Inequality that is checked, with its unit.
    v.line,
    -- Smaller side of the inequality, in the unit that `line` states.
    v.value,
    -- Larger side of the inequality.
    v.bound,
    -- True if the value is within the bound.
    v.value <= v.bound * (1e0 + 1e-9) AS holds
FROM compared_values AS v
