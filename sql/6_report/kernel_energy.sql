-- Energy of every kernel on every part by component. Null where a coefficient of the part is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_energy AS
SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.context,
    k.phase,
    k.memory_format,
    k.kernel_id,
    k.position,
    k.kernel,
    k.operator,
    k.module,
    k.kernel_class,
    k.compute_energy_j,
    k.memory_energy_j,
    k.dram_byte,
    -- Energy of main memory, reordering of weights and images included; null when a coefficient is missing. [J]
    k.dram_energy_j + k.reorder_energy_j AS dram_energy_j,
    k.cache_level,
    k.moved_byte,
    -- Energy of the last-level cache, loads of tiles from this cache and fetches by the units included; null when a coefficient is missing. [J]
    k.cache_energy_j + k.fetch_energy_j + CASE WHEN k.tile_memory_level IS NULL THEN k.reload_energy_j ELSE 0e0 END AS cache_energy_j,
    k.tile_memory_level,
    k.reload_byte,
    -- Energy of the memories next to the units; null when a coefficient is missing. [J]
    CASE WHEN k.tile_memory_level IS NULL THEN 0e0 ELSE k.reload_energy_j END AS reload_energy_j,
    k.stream_level,
    k.stream_byte,
    k.stream_energy_j,
    k.static_energy_j,
    k.wasted_energy_j,
    k.energy_j,
    -- Share of the energy that is not wasted as static energy of idle units.
    1e0 - k.wasted_energy_j / NULLIF(k.energy_j, 0e0) AS efficiency_fraction,
    -- Average power of the kernel: energy divided by latency. [W]
    k.energy_j / NULLIF(k.latency_s, 0e0) AS power_w,
    h.energy_scope
FROM kernel_time AS k
INNER JOIN part AS h ON h.hardware = k.hardware
