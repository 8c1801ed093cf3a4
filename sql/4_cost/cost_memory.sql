-- Sum of all memory levels of a shape with its tile.
-- Sum: memory_s, seconds, memory
-- Sum: memory_energy_j, joules, memory exposed
-- Grain: run, shape_id, hardware
CREATE VIEW cost_memory AS
SELECT
    *,
    -- Time of the slowest memory level. [s]
    GREATEST(untiled_s, reload_s, fetch_s, staged_stream_s) AS memory_s,
    -- Memory level that takes `memory_s`, the outermost in a tie: `dram`, the last-level cache or the tile memory; `latency`
    -- (dependent accesses), `row` (blocks of a normalization), `flight` (loads in flight) or `thread` (few threads).
    CASE memory_s
        WHEN COALESCE(dram_s, 0e0) THEN 'dram'
        WHEN cache_s THEN cache_level
        WHEN latency_bound_s THEN 'latency'
        WHEN row_s THEN 'row'
        WHEN flight_s THEN 'flight'
        WHEN thread_s THEN 'thread'
        WHEN fetch_s THEN cache_level
        WHEN reload_s THEN COALESCE(tile_memory_level, cache_level)
        WHEN staged_stream_s THEN stream_level
    END AS memory_level,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    untiled_energy_j + reload_energy_j + fetch_energy_j + stream_energy_j AS memory_energy_j
FROM cost_stream
