-- Busy time of a run (time in which kernels keep the device busy), divided by the resource that bounds it: arithmetic, each memory
-- level, the power limit or thread teams. `model_cost.bottleneck` combines all memory levels.
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
    -- Resource that bounds the busy time: `arithmetic`, a memory level, `latency` (dependent accesses), `thread` (one thread moves
    -- all bytes), `threads` (starting and joining a thread team) or `power`.
    pace,
    -- Busy time that this resource bounds; the sum over resources is the busy time of the run. [s]
    SUM(pace_s) AS pace_s
FROM shape_paces
WHERE pace_s > 0e0
GROUP BY run, hardware, pace
