-- Starting and joining a processor's thread team, in every kernel that is not single-threaded and in every time step of a
-- recurrence. On a GPU a time step consists of two kernels: product and gates. If the units keep the recurrent weights (about half
-- of the layer's weights), one kernel runs all time steps, which exchange their state through memory.
-- Term: team, exposed, , , , team_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_team AS
SELECT
    *,
    -- Time to start and join the thread team, or the time between a recurrence's time steps on a GPU; 0 for one thread and when
    -- threads are unknown. [s]
    CASE
        WHEN family = 'gpu' AND rounds > 1e0
            THEN 2e0 * rounds * CASE
                WHEN weight_byte <= 2e0 * tile_memory_byte THEN COALESCE(memory_latency_s, 0e0)
                ELSE COALESCE(kernel_gap_s, 0e0)
            END
        WHEN chunk_element IS NOT NULL AND team_size > 1e0 AND moved_byte > 0e0
            THEN COALESCE(team_overhead_s * team_ratio * GREATEST(rounds, 1e0), 0e0)
        ELSE 0e0
    END AS team_s
FROM cost_thread
