-- The last-level cache: all traffic passes through it.
-- Term: cache, memory, moved_byte, cache_byte_per_s, memory_fraction, cache_s, cache_energy_j
-- Link: 30
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_cache AS
SELECT
    * EXCLUDE (memory_s, memory_level, memory_energy_j),
    -- Time of the last-level cache: all traffic over its bandwidth and memory efficiency; 0 when its bandwidth is unknown or
    -- it has none. [s]
    COALESCE(moved_byte / NULLIF(cache_byte_per_s * memory_fraction, 0e0), 0e0) AS cache_s,
    -- Energy of the last-level cache; null when a coefficient is missing. [J]
    CASE WHEN cache_level IS NULL THEN 0e0 ELSE moved_byte * cache_j_per_byte END AS cache_energy_j,
    GREATEST(memory_s, cache_s) AS memory_s,
    CASE WHEN cache_s > memory_s THEN cache_level ELSE memory_level END AS memory_level,
    memory_energy_j + cache_energy_j AS memory_energy_j
FROM previous
