-- Additive time and energy of every kernel on every target: device time, delayed by the host's dispatch. The time of a run is the
-- sum of `latency_s` over its kernels plus `run_call_s`; the other times do not add up.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_time AS
WITH cumulated_times AS (
    SELECT
        *,
        MAX(fault) OVER (PARTITION BY run, hardware) AS run_fault,
        SUM(device_s) OVER (
            PARTITION BY run, hardware ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS device_end_s,
        SUM(host_issue_s) OVER (
            PARTITION BY run, hardware ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS issued_s
    FROM kernel_cost
),

queued_kernels AS (
    SELECT
        *,
        CASE
            WHEN run_fault IS NOT NULL THEN NULL
            WHEN dispatch = 'async_queue' THEN device_end_s + MAX(issued_s - (device_end_s - device_s)) OVER (
                PARTITION BY run, hardware ORDER BY position
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
            ELSE issued_s + device_end_s
        END AS end_s
    FROM cumulated_times
),

additive_times AS (
    SELECT
        *,
        end_s - COALESCE(LAG(end_s) OVER (PARTITION BY run, hardware ORDER BY position), 0e0) AS latency_s
    FROM queued_kernels
)

SELECT
    run.model,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    * EXCLUDE (run, issued_s, device_end_s, end_s, latency_s, run_fault),
    -- End of the kernel, from the start of the first kernel. `async_queue`: cumulative device time plus the largest lead of the
    -- host so far, end_i = D_i + max over j <= i of (issue_j - D_(j-1)); `serial`: host and device times add; `graph`: one launch.
    -- [s]
    end_s,
    -- Time that the kernel adds to the run. [s]
    latency_s,
    -- Part of `latency_s` in which the device waits: dispatch and gaps. [s]
    CASE WHEN latency_s IS NOT NULL THEN GREATEST(0e0, latency_s - busy_s) END AS overhead_s,
    -- Static energy: static power at the clock of the run (`static_w`) times `latency_s`; null when a coefficient is missing. [J]
    static_w * latency_s AS static_energy_j,
    -- Static energy of idle units: units without a tile, and losses from tile shapes and partial waves; null when a coefficient is
    -- missing. [J]
    static_w * (latency_s - busy_s * LEAST(utilization_fraction, units_allocated / NULLIF(unit_count, 0e0)))
        AS wasted_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    dynamic_energy_j + static_w * latency_s AS energy_j,
    -- Resource that sets the pace: `compute`, `memory:LEVEL`, `overhead`, `power`, `threads`, or `balanced` if arithmetic and
    -- memory take about the same time.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN latency_s - busy_s > 0.5e0 * latency_s THEN 'overhead'
        WHEN is_power_bound THEN 'power'
        WHEN team_s > 0.5e0 * latency_s THEN 'threads'
        WHEN feed_s > GREATEST(compute_s, memory_s) + serial_s THEN CONCAT('memory:', stream_level)
        WHEN GREATEST(compute_s, memory_s) < 1.1e0 * LEAST(compute_s, memory_s) THEN 'balanced'
        WHEN compute_s > memory_s THEN 'compute'
        ELSE CONCAT('memory:', memory_level)
    END AS bottleneck
FROM additive_times
