-- Kernels whose operators do not add up to them in time, energy or energy-delay product, or whose operators'
-- shares do not add up to 1.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW operator_sum_mismatch (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Sum of its operators' shares; null when it has none.
    share_sum,
    -- Sum of its operators less its own. [s]
    latency_off_s,
    -- Sum of its operators less its own. [J]
    energy_off_j,
    -- Sum of its operators less its own. [J s]
    edp_off_js
) AS
WITH operator_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        subgraph_id,
        SUM(share_fraction) AS share_sum,
        SUM(latency_s) AS latency_s,
        SUM(energy_j) AS energy_j,
        SUM(edp_js) AS edp_js
    FROM operator_cost
    GROUP BY model_id, scenario_id, hardware_id, subgraph_id
)

SELECT
    k.model_id,
    k.scenario_id,
    k.hardware_id,
    k.subgraph_id,
    o.share_sum,
    o.latency_s - k.latency_s AS latency_off_s,
    o.energy_j - k.energy_j AS energy_off_j,
    o.edp_js - k.edp_js AS edp_off_js
FROM kernel_edp AS k
LEFT JOIN operator_sums AS o
    ON o.model_id = k.model_id AND o.scenario_id = k.scenario_id
    AND o.hardware_id = k.hardware_id AND o.subgraph_id = k.subgraph_id
WHERE o.share_sum IS NULL
    OR ABS(o.share_sum - 1e0) > 1e-12
    OR ABS(o.latency_s - k.latency_s) > 1e-12 * k.latency_s
    OR ABS(o.energy_j - k.energy_j) > 1e-12 * k.energy_j
    OR ABS(o.edp_js - k.edp_js) > 1e-12 * k.edp_js
