-- First memory level of parts whose tiles reside in another level: operands and results stream through the first level. If software
-- moves data through every level, the first level is a memory like the others. If loads of instructions pass through the first
-- level, instructions include their energy, and the level's time is a lower bound of the kernel's time (`feed_s`).
-- Term: stream, memory, stream_byte, stream_memory_byte_per_s, , staged_stream_s, stream_energy_j
-- Term: feed, bound, stream_byte, stream_memory_byte_per_s, , feed_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_stream AS
SELECT
    *,
    -- Time of the first level as a memory: `stream_s` if software moves all bytes, else 0. [s]
    CASE WHEN is_staged THEN stream_s ELSE 0e0 END AS staged_stream_s,
    -- Time of the first level to feed the arithmetic: `stream_s` if loads pass through it, else 0. [s]
    CASE WHEN is_staged THEN 0e0 ELSE stream_s END AS feed_s,
    -- Energy of the first level that is not part of an operation's energy; null when a coefficient is missing. [J]
    level_energy(stream_level, stream_byte, stream_j_per_byte) AS stream_energy_j
FROM cost_fetch
