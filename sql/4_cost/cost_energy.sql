-- Energy of the arithmetic and of every byte moved.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_energy AS
SELECT
    *,
    -- Energy of the arithmetic; null when a coefficient is missing. [J]
    product_energy_j + vector_energy_j AS compute_energy_j,
    -- Energy of main memory traffic; null when a coefficient is missing. [J]
    (dram_byte + reorder_byte) * dram_j_per_byte AS dram_energy_j,
    -- Energy of on-chip traffic; null when a coefficient is missing. [J]
    CASE WHEN cache_level IS NULL THEN 0e0 ELSE moved_byte * cache_j_per_byte END
    + CASE WHEN tile_memory_level IS NULL THEN 0e0 ELSE reload_byte * tile_j_per_byte END AS cache_energy_j
FROM cost_roofline
