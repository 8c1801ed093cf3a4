-- The power limit: average power cannot exceed the part's, so a kernel takes at least its dynamic energy over what the limit
-- leaves beside static power.
-- Term: power, power, , , , power_s,
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_power AS
SELECT
    *,
    -- Energy of arithmetic and traffic; null when a coefficient is missing. [J]
    compute_energy_j + memory_energy_j AS dynamic_energy_j,
    -- Least time the power limit allows; null when the power is unknown. [s]
    dynamic_energy_j / NULLIF(tdp_w - static_w, 0e0) AS power_s
FROM cost_compute
