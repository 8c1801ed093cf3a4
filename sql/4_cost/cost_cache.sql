-- Last-level cache: all traffic passes through this cache.
-- Term: cache, memory, moved_byte, cache_byte_per_s, memory_fraction, cache_s, cache_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_cache AS
SELECT
    *,
    -- Time of the last-level cache: all traffic divided by its bandwidth and memory efficiency; 0 without a cache or when its
    -- bandwidth is unknown. [s]
    COALESCE(moved_byte / NULLIF(cache_byte_per_s * memory_fraction, 0e0), 0e0) AS cache_s,
    -- Energy of the last-level cache; null when a coefficient is missing. [J]
    level_energy(cache_level, moved_byte, cache_j_per_byte) AS cache_energy_j
FROM cost_dram
