-- The memories next to the units, which the tiles load operands from, again for every tile.
-- Term: reload, memory, reload_byte, tile_memory_byte_per_s, , reload_s, reload_energy_j
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_reload AS
SELECT
    * EXCLUDE (memory_s, memory_level, memory_energy_j),
    -- Energy of the memories next to the units; null when a coefficient is missing. [J]
    CASE WHEN tile_memory_level IS NULL THEN 0e0 ELSE reload_byte * tile_j_per_byte END AS reload_energy_j,
    GREATEST(memory_s, reload_s) AS memory_s,
    CASE WHEN reload_s > memory_s THEN tile_memory_level ELSE memory_level END AS memory_level,
    memory_energy_j + reload_energy_j AS memory_energy_j
FROM cost_tile
