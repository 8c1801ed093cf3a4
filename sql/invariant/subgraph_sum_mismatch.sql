-- Runs whose kernels do not add up to them in time, energy or energy-delay product.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW subgraph_sum_mismatch (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Sum of the kernels less the run's. [s]
    latency_off_s,
    -- Sum of the kernels less the run's. [J]
    energy_off_j,
    -- Sum of the kernels' attributed shares less the run's energy times its time. [J s]
    edp_off_js
) AS
WITH kernel_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        SUM(latency_s) AS latency_s,
        SUM(energy_j) AS energy_j,
        SUM(edp_js) AS edp_js
    FROM kernel_edp
    GROUP BY model_id, scenario_id, hardware_id
)

SELECT
    m.model_id,
    m.scenario_id,
    m.hardware_id,
    k.latency_s - m.latency_s AS latency_off_s,
    k.energy_j - m.energy_j AS energy_off_j,
    k.edp_js - m.energy_j * m.latency_s AS edp_off_js
FROM model_cost AS m
INNER JOIN kernel_sums AS k
    ON k.model_id = m.model_id AND k.scenario_id = m.scenario_id AND k.hardware_id = m.hardware_id
WHERE ABS(k.latency_s - m.latency_s) > 1e-12 * m.latency_s
    OR ABS(k.energy_j - m.energy_j) > 1e-12 * m.energy_j
    OR ABS(k.edp_js - m.energy_j * m.latency_s) > 1e-12 * m.energy_j * m.latency_s
