-- Modules that are not the sum of their own operators and their direct submodules, and root modules that are
-- not the whole run, in time, energy or energy-delay product.
-- Grain: model_id, scenario_id, hardware_id, module_id
CREATE VIEW module_sum_mismatch (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Module.
    module_id,
    -- What it should come to. [s]
    sum_s,
    -- What it comes to. [s]
    latency_s,
    -- What it should come to. [J]
    sum_j,
    -- What it comes to. [J]
    energy_j,
    -- What it should come to. [J s]
    sum_js,
    -- What it comes to. [J s]
    edp_js
) AS
WITH pieces AS (
    SELECT
        c.model_id,
        c.scenario_id,
        c.hardware_id,
        o.module_id,
        c.latency_s,
        c.energy_j,
        c.edp_js
    FROM operator_cost AS c
    INNER JOIN operator AS o ON o.model_id = c.model_id AND o.operator_id = c.operator_id
    UNION ALL
    SELECT
        e.model_id,
        e.scenario_id,
        e.hardware AS hardware_id,
        m.parent_module_id AS module_id,
        e.latency_s,
        e.energy_j,
        e.edp_js
    FROM module_edp AS e
    INNER JOIN module AS m ON m.model_id = e.model_id AND m.module_id = e.module_id
    WHERE m.parent_module_id IS NOT NULL
),

module_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        module_id,
        SUM(latency_s) AS sum_s,
        SUM(energy_j) AS sum_j,
        SUM(edp_js) AS sum_js
    FROM pieces
    GROUP BY model_id, scenario_id, hardware_id, module_id
    UNION ALL
    SELECT
        c.model_id,
        c.scenario_id,
        c.hardware_id,
        m.module_id,
        c.latency_s AS sum_s,
        c.energy_j AS sum_j,
        c.energy_j * c.latency_s AS sum_js
    FROM model_cost AS c
    INNER JOIN module AS m ON m.model_id = c.model_id
    WHERE m.parent_module_id IS NULL
)

SELECT
    s.model_id,
    s.scenario_id,
    s.hardware_id,
    s.module_id,
    s.sum_s,
    e.latency_s,
    s.sum_j,
    e.energy_j,
    s.sum_js,
    e.edp_js
FROM module_sums AS s
LEFT JOIN module_edp AS e
    ON e.model_id = s.model_id AND e.scenario_id = s.scenario_id
    AND e.hardware = s.hardware_id AND e.module_id = s.module_id
WHERE e.latency_s IS NULL
    OR ABS(e.latency_s - s.sum_s) > 1e-12 * s.sum_s
    OR ABS(e.energy_j - s.sum_j) > 1e-12 * s.sum_j
    OR ABS(e.edp_js - s.sum_js) > 1e-12 * s.sum_js
