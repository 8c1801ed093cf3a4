-- Inputs for the effect of a lower clock: arithmetic and the memories on the units' clock need less energy, because the voltage is
-- lower, and more time. Main memory keeps its clock. Energies apply at the reference clock of the silicon.
-- Grain: run, shape_id, hardware
CREATE VIEW cost_power AS
SELECT
    *,
    -- Energy of arithmetic and traffic; null when a coefficient is missing. [J]
    compute_energy_j + memory_energy_j AS dynamic_energy_j,
    -- Part of `dynamic_energy_j` that falls with the voltage: arithmetic, the last-level cache and the memories next to the units;
    -- null when a coefficient is missing. [J]
    compute_energy_j + cache_energy_j + reload_energy_j + fetch_energy_j + stream_energy_j AS clocked_energy_j,
    -- Time of the slowest memory on the units' clock: the last-level cache and the memories next to the units. [s]
    GREATEST(cache_s, reload_s, fetch_s, staged_stream_s) AS clocked_memory_s
FROM cost_compute
