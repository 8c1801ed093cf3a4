-- Few threads on a processor: the main-memory bandwidth of the busy units bounds a short loop that the backend runs on few threads.
-- Libraries run every product on all threads. The number of units in the part's file determines which loops are short.
-- Term: thread, memory, moved_byte, unit_dram_byte_per_s, thread_fraction, thread_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_thread AS
SELECT
    *,
    -- Mean number of units that run the loop; fewer than all units if the backend runs a short loop on few threads.
    CASE
        WHEN chunk_element IS NULL OR macs > 0e0 THEN unit_count
        WHEN shares_by_chunk THEN GREATEST(LEAST(loop_elements / NULLIF(chunk_element, 0e0), unit_count), 1e0)
        WHEN loop_elements >= chunk_element * stated_unit_count THEN unit_count
        ELSE 1e0
    END AS team_size,
    -- Time for few threads to move all traffic, each at the bandwidth of one unit; 0 if all units run the loop or when threads are
    -- unknown. [s]
    CASE
        WHEN team_size >= unit_count THEN 0e0
        ELSE COALESCE(moved_byte / NULLIF(unit_dram_byte_per_s * thread_fraction * team_size, 0e0), 0e0)
    END AS thread_s
FROM cost_flight
