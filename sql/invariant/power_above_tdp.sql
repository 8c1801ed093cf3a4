-- Kernels whose average power exceeds what their part may draw, where that is known.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW power_above_tdp (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Its energy over its time. [W]
    power_w,
    -- Power the part may draw. [W]
    tdp_w
) AS
SELECT
    k.model_id,
    k.scenario_id,
    k.hardware_id,
    k.subgraph_id,
    k.energy_j / NULLIF(k.latency_s, 0e0) AS power_w,
    h.tdp_w
FROM kernel_latency AS k
INNER JOIN hardware_unit AS h ON h.hardware_id = k.hardware_id
WHERE k.energy_j > h.tdp_w * k.latency_s * (1e0 + 1e-9)
