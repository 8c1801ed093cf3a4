-- The power limit: average power cannot exceed the part's, so the kernel takes at least its dynamic energy over what the limit
-- leaves beside static power.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_power AS
SELECT
    *,
    -- Energy of arithmetic and traffic; null when a coefficient is missing. [J]
    compute_energy_j + dram_energy_j + cache_energy_j AS dynamic_energy_j,
    -- Least time the power limit allows; null when the power is unknown. [s]
    (compute_energy_j + dram_energy_j + cache_energy_j) / NULLIF(tdp_w - static_w, 0e0) AS power_s,
    -- The part of the faster of compute_s and memory_s that does not overlap. [s]
    (1e0 - overlap_fraction) * LEAST(compute_s, memory_s) AS serial_s
FROM cost_energy
