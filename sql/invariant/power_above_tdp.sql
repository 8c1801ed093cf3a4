-- Runs whose average power exceeds the known limit of their power mode.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW power_above_tdp AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    -- Energy of the run divided by its time. [W]
    energy_j / NULLIF(latency_s, 0e0) AS power_w,
    tdp_w
FROM model_cost
WHERE energy_j > tdp_w * latency_s * (1e0 + 1e-9)
