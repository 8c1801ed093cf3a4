-- The memories next to the units, which the tiles load operands from, again for every tile.
-- Term: reload, memory, reload_byte, tile_memory_byte_per_s, , reload_s, reload_energy_j
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_reload AS
SELECT
    *,
    -- Energy of the memories next to the units; null when a coefficient is missing. [J]
    level_energy(tile_memory_level, reload_byte, tile_j_per_byte) AS reload_energy_j
FROM cost_tile
