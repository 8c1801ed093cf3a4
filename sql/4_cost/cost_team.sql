-- Time that few threads take for all traffic, and that a team takes to begin and end.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_team AS
SELECT
    *,
    -- Time in which few threads move all traffic, at their share of the bandwidth; 0 where all do or nothing is known of
    -- threads. [s]
    CASE
        WHEN team_size >= unit_count OR thread_fraction IS NULL THEN 0e0
        ELSE moved_byte * unit_count / NULLIF(dram_byte_per_s * thread_fraction * team_size, 0e0)
    END AS thread_s,
    -- Time in which the team of threads begins and ends; 0 for one thread and where nothing is known of threads. [s]
    CASE
        WHEN chunk_element IS NOT NULL AND team_size > 1e0 AND moved_byte > 0e0
            THEN COALESCE(team_byte, 0e0) * unit_count / NULLIF(dram_byte_per_s, 0e0)
        ELSE 0e0
    END AS team_s
FROM cost_thread
