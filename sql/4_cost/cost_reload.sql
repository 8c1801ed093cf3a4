-- Memories next to the units, into which every tile loads its operands again. Without such memories, tiles load from the last-level
-- cache; the cache's term (`cost_cache`) counts each byte once.
-- Term: reload, memory, reload_byte, tile_memory_byte_per_s, , reload_s, reload_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_reload AS
SELECT
    *,
    -- Energy of the memories next to the units or, on parts without such memories, of repeated reads of the last-level cache; null
    -- when a coefficient is missing. [J]
    reload_energy(tile_memory_level, tile_j_per_byte, cache_level, cache_j_per_byte, reload_byte, moved_byte) AS reload_energy_j
FROM cost_tile
