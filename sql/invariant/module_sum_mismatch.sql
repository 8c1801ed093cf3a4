-- Modules that differ in time, energy or energy-delay product from the sum of their own operators and direct submodules, and root
-- modules that differ from the whole run without the run's call.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, module_id
CREATE VIEW module_sum_mismatch AS
WITH pieces AS (
    SELECT c.*, o.module_id
    FROM operator_cost AS c
    INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
),

module_totals AS (
    SELECT * FROM module_edp
),

own_sums AS (
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, module_id,
        SUM(latency_s) AS latency_s, SUM(energy_j) AS energy_j, SUM(edp_js) AS edp_js
    FROM pieces
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, module_id
    UNION ALL
    SELECT
        e.model, e.hardware, e.backend, e.precision, e.batch, e.sequence, e.scenario_id,
        m.parent_module_id AS module_id, e.latency_s, e.energy_j, e.edp_js
    FROM module_totals AS e
    INNER JOIN module AS m ON m.model = e.model AND m.module_id = e.module_id
    WHERE m.parent_module_id IS NOT NULL
),

expected_sums AS (
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, module_id,
        SUM(latency_s) AS sum_s, SUM(energy_j) AS sum_j, SUM(edp_js) AS sum_js
    FROM own_sums
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, module_id
    UNION ALL
    SELECT
        c.model, c.hardware, c.backend, c.precision, c.batch, c.sequence, c.scenario_id, m.module_id,
        c.latency_s - c.run_call_s AS sum_s,
        c.energy_j - c.static_w * c.run_call_s AS sum_j,
        c.energy_j * c.latency_s - 0.5e0 * (c.static_w * c.run_call_s * c.latency_s + c.run_call_s * c.energy_j) AS sum_js
    FROM model_cost AS c
    INNER JOIN module AS m ON m.model = c.model
    WHERE m.parent_module_id IS NULL
)

SELECT
    s.model,
    s.hardware,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    s.module_id,
    -- Expected time. [s]
    s.sum_s,
    -- Reported time. [s]
    e.latency_s,
    -- Expected energy. [J]
    s.sum_j,
    -- Reported energy. [J]
    e.energy_j,
    -- Expected energy-delay product. [J s]
    s.sum_js,
    -- Reported energy-delay product. [J s]
    e.edp_js
FROM expected_sums AS s
LEFT JOIN module_totals AS e
    ON e.model = s.model AND e.hardware = s.hardware AND e.backend = s.backend AND e.precision = s.precision
    AND e.batch = s.batch AND e.sequence = s.sequence AND e.scenario_id = s.scenario_id AND e.module_id = s.module_id
WHERE (e.latency_s IS NULL AND s.sum_s IS NOT NULL)
    OR ABS(e.latency_s - s.sum_s) > 1e-9 * s.sum_s
    OR ABS(e.energy_j - s.sum_j) > 1e-9 * s.sum_j
    OR ABS(e.edp_js - s.sum_js) > 1e-9 * s.sum_js
