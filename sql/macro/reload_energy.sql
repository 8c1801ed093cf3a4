-- Energy of tile loads from the units' own memory, else from the last-level cache, without each byte's first crossing, which the
-- cache's term counts; null when a coefficient is missing. [J]
CREATE MACRO reload_energy(tile_level, tile_j_per_byte, cache_level, cache_j_per_byte, reload_byte, moved_byte) AS CASE
    WHEN tile_level IS NULL THEN level_energy(cache_level, GREATEST(reload_byte - moved_byte, 0e0), cache_j_per_byte)
    ELSE reload_byte * tile_j_per_byte
END;
