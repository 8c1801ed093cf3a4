-- Threads of a processor: where the backend leaves a short loop to few of them, what their units alone draw of main memory
-- bounds it. Libraries share every product. How many threads are too many for a loop goes by the units that the part's file
-- states.
-- Term: thread, memory, moved_byte, unit_dram_byte_per_s, thread_fraction, thread_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_thread AS
SELECT
    *,
    -- Units whose threads run it, on average; fewer than the part's where the backend leaves a short loop to few.
    CASE
        WHEN chunk_element IS NULL OR macs > 0e0 THEN unit_count
        WHEN shares_by_chunk THEN GREATEST(LEAST(loop_elements / NULLIF(chunk_element, 0e0), unit_count), 1e0)
        WHEN loop_elements >= chunk_element * stated_unit_count THEN unit_count
        ELSE 1e0
    END AS team_size,
    -- Time in which few threads move all traffic, each at the bandwidth of a unit alone; 0 where all do or nothing is known
    -- of threads. [s]
    CASE
        WHEN team_size >= unit_count THEN 0e0
        ELSE COALESCE(moved_byte / NULLIF(unit_dram_byte_per_s * thread_fraction * team_size, 0e0), 0e0)
    END AS thread_s
FROM cost_row
