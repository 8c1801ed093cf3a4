-- Time for which each resource sets the pace of a run while kernels keep the device busy: arithmetic, each memory level by its
-- name, the power limit, teams of threads. `model_cost.bottleneck` combines all memory levels.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, pace
CREATE VIEW busy_pace AS
WITH times AS (
    SELECT 'kernel' AS kind
    UNION ALL
    SELECT 'threads' AS kind
),

shape_paces AS (
    SELECT
        s.run,
        s.hardware,
        CASE
            WHEN s.is_power_bound THEN 'power'
            WHEN t.kind = 'threads' THEN 'threads'
            WHEN s.compute_s >= s.memory_s THEN 'arithmetic'
            ELSE s.memory_level
        END AS pace,
        s.kernel_count * CASE
            WHEN s.is_power_bound THEN CASE WHEN t.kind = 'kernel' THEN s.busy_s ELSE 0e0 END
            WHEN t.kind = 'kernel' THEN s.busy_s - s.team_s
            ELSE s.team_s
        END AS pace_s
    FROM clocked_shape AS s
    CROSS JOIN times AS t
)

SELECT
    run.model,
    hardware,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    -- `arithmetic`, a memory level, `latency` of dependent accesses, `thread` for one thread that moves all bytes, `power`, or
    -- `threads` for starting and joining them.
    pace,
    -- Time for which this resource sets the pace; the sum is the time in which kernels keep the device busy. [s]
    SUM(pace_s) AS pace_s
FROM shape_paces
WHERE pace_s > 0e0
GROUP BY run, hardware, pace
