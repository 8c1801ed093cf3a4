-- The first level, where tiles lie in another: what streams through it from there to the arithmetic, and results back. Where
-- software moves it, it is a memory like the others; where loads pass it, they are part of the instructions and their energy,
-- and it is a lower bound of the kernel's time (`feed_s`).
-- Term: stream, memory, stream_byte, stream_memory_byte_per_s, , staged_stream_s, stream_energy_j
-- Term: feed, bound, stream_byte, stream_memory_byte_per_s, , feed_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_stream AS
SELECT
    *,
    -- Time of the first level as a memory: stream_s where software moves all bytes, else 0. [s]
    CASE WHEN is_staged THEN stream_s ELSE 0e0 END AS staged_stream_s,
    -- Time in which the first level feeds the arithmetic: stream_s where loads pass it, else 0. [s]
    CASE WHEN is_staged THEN 0e0 ELSE stream_s END AS feed_s,
    -- Energy of the first level that is not part of an operation's energy; null when a coefficient is missing. [J]
    level_energy(stream_level, stream_byte, stream_j_per_byte) AS stream_energy_j
FROM cost_reload
