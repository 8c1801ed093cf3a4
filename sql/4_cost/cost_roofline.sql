-- The roofline of a shape (Williams et al. 2009) per memory level. Tiles that lose more than the library's let a class be faster
-- than they are, but not than the peak.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_roofline AS
SELECT
    *,
    -- Time of the arithmetic: the slower of the two kinds of unit, at least naive_s. [s]
    GREATEST(matrix_s, vector_s, naive_s) AS compute_s,
    -- Time of the slowest memory level. [s]
    GREATEST(dram_s, cache_s, reload_s, latency_bound_s, thread_s) AS memory_s,
    -- Level of memory_s: `dram`, the last-level cache or the tile memory; `latency` where latency_bound_s is longest, `thread`
    -- where thread_s is.
    CASE
        WHEN thread_s > GREATEST(dram_s, cache_s, reload_s, latency_bound_s) THEN 'thread'
        WHEN latency_bound_s > GREATEST(dram_s, cache_s, reload_s) THEN 'latency'
        WHEN dram_s >= cache_s AND dram_s >= reload_s THEN 'dram'
        WHEN cache_s >= reload_s THEN cache_level
        ELSE tile_memory_level
    END AS memory_level,
    -- Roofline bound: work at peak against unique traffic at peak bandwidth. [s]
    GREATEST(naive_s, dram_byte / NULLIF(dram_byte_per_s, 0e0)) AS roofline_s
FROM cost_reload
