-- The validation lines of the concurrency report: what must hold between stages, critical path and times.
-- Grain: model_id, scenario_id, hardware_id, line
CREATE VIEW concurrency_check (
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
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- What must hold.
    line,
    -- What is compared, in the unit of the line.
    value,
    -- What it must not exceed.
    bound,
    -- True when it holds.
    holds
) AS
WITH stage_totals AS (
    SELECT
        model_id,
        backend,
        CAST(COUNT(DISTINCT stage) AS DOUBLE) AS stages,
        CAST(COUNT(*) AS DOUBLE) AS kernels
    FROM subgraph
    GROUP BY model_id, backend
),

measures AS (
    SELECT
        c.model_id,
        c.scenario_id,
        c.hardware_id,
        c.latency_s,
        c.device_s,
        c.flops,
        p.critical_path_s,
        p.critical_path_lower_s,
        p.critical_path_flops,
        CAST(p.critical_path_kernels AS DOUBLE) AS critical_path_kernels,
        s.stages,
        s.kernels
    FROM model_cost AS c
    INNER JOIN run AS r ON r.model_id = c.model_id AND r.scenario_id = c.scenario_id
    INNER JOIN critical_path AS p
        ON p.model_id = c.model_id AND p.scenario_id = c.scenario_id AND p.hardware_id = c.hardware_id
    INNER JOIN stage_totals AS s ON s.model_id = r.model_id AND s.backend = r.backend
),

lines AS (
    SELECT model_id, scenario_id, hardware_id, 'critical path within sequential time [s]' AS line,
        critical_path_s AS value, device_s AS bound
    FROM measures
    UNION ALL
    SELECT model_id, scenario_id, hardware_id, 'lower bound within critical path [s]' AS line,
        critical_path_lower_s AS value, critical_path_s AS bound
    FROM measures
    UNION ALL
    SELECT model_id, scenario_id, hardware_id, 'critical path within all operations [op]' AS line,
        critical_path_flops AS value, flops AS bound
    FROM measures
    UNION ALL
    SELECT model_id, scenario_id, hardware_id, 'stages within kernels' AS line, stages AS value, kernels AS bound
    FROM measures
    UNION ALL
    SELECT model_id, scenario_id, hardware_id, 'stages within kernels of the longest path' AS line,
        stages AS value, critical_path_kernels AS bound
    FROM measures
    UNION ALL
    SELECT model_id, scenario_id, hardware_id, 'kernels'' device time within the run [s]' AS line,
        device_s AS value, latency_s AS bound
    FROM measures
)

SELECT
    l.model,
    x.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    x.model_id,
    x.scenario_id,
    x.hardware_id,
    x.line,
    x.value,
    x.bound,
    x.value <= x.bound * (1e0 + 1e-9) AS holds
FROM lines AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
