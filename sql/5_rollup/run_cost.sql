-- Time and energy of every run on every part. For several devices, work and traffic are those of one device, and energy is that of
-- all devices. With `async_queue` the run ends at the sum of device times plus the largest lead of the host, as in `kernel_time`;
-- with `serial` host and device times add; a `graph` is launched once. `run_call_s` is the time paid once per run.
-- Grain: run, hardware
-- At hand: as model_cost
CREATE VIEW run_cost AS
WITH issued_runs AS (
    SELECT
        s.*,
        r.context,
        r.phase,
        r.memory_format,
        r.host_factor,
        r.engine_version,
        r.kv_precision,
        r.device_count,
        r.weight_host_fraction,
        r.cache_host_fraction,
        r.input_host_fraction,
        r.cache_state,
        r.power,
        CASE
            WHEN s.dispatch = 'graph' THEN 0e0
            ELSE (s.kernel_count * s.host_kernel_s + s.view_count * s.host_view_s) * r.host_factor
        END AS host_issue_s
    FROM run_sum AS s
    INNER JOIN run AS r ON r.run = s.run
),

timed_runs AS (
    SELECT
        *,
        run_call_s + device_s + COALESCE(lead_s, host_issue_s) AS latency_s
    FROM issued_runs
)

SELECT
    run,
    hardware,
    context,
    phase,
    memory_format,
    engine_version,
    kv_precision,
    device_count,
    weight_host_fraction,
    cache_host_fraction,
    input_host_fraction,
    host_factor,
    cache_state,
    power,
    -- Number of kernels launched.
    CAST(kernel_count AS BIGINT) AS kernel_count,
    macs,
    flops,
    -- Bytes that cross kernel borders. [byte]
    traffic_byte,
    -- Traffic of main memory. [byte]
    dram_byte,
    -- Time of one run. [s]
    latency_s,
    -- Part of `latency_s` in which arithmetic sets the pace. [s]
    compute_s,
    -- Part of `latency_s` in which a memory level sets the pace. [s]
    memory_s,
    -- Part of `latency_s` in kernels that the power limit or the power mode slows down. [s]
    power_s,
    -- Part of `latency_s` in which thread teams start and join. [s]
    team_s,
    -- Part of `latency_s` in which the device waits: the call, dispatch and gaps. [s]
    latency_s - busy_s AS overhead_s,
    -- Time paid once per run: host time of the run's call, and time on links. [s]
    run_call_s,
    exchange_s,
    weight_s,
    cache_s,
    -- Cause of the largest part of the time: `weights`, `cache`, `activations`, `compute`, `links` or `host`.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN latency_s - busy_s - exchange_s >= GREATEST(compute_s + power_s, memory_s, exchange_s) THEN 'host'
        WHEN exchange_s >= GREATEST(compute_s + power_s, memory_s) THEN 'links'
        WHEN compute_s + power_s >= memory_s THEN 'compute'
        WHEN weight_s >= GREATEST(cache_s, memory_s - weight_s - cache_s) THEN 'weights'
        WHEN cache_s >= memory_s - weight_s - cache_s THEN 'cache'
        ELSE 'activations'
    END AS step_limit,
    -- Model FLOPs utilization: ratio of operations per second to the dense peak of the policy's precision.
    flops / NULLIF(latency_s * dense_ops_per_s, 0e0) AS mfu_fraction,
    -- Model bandwidth utilization: ratio of main-memory bytes per second to the bandwidth.
    dram_byte / NULLIF(latency_s * dram_byte_per_s, 0e0) AS mbu_fraction,
    -- Device time without the host, gaps between kernels included. [s]
    device_s,
    -- Host time to issue all kernels, the run's call included. [s]
    host_issue_s + run_call_s AS host_issue_s,
    -- Naive time: all units at their peak, without memory. [s]
    naive_s,
    -- Sum of the kernels' roofline bounds. [s]
    roofline_s,
    compute_energy_j,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    memory_energy_j,
    -- Static energy: static power of all devices at the clock of the run (`static_w` each) times `latency_s`; null when a
    -- coefficient is missing. [J]
    static_w * device_count * latency_s AS static_energy_j,
    -- Static energy of idle units; null when a coefficient is missing. [J]
    static_w * device_count * (latency_s - working_s) AS wasted_energy_j,
    peak_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    compute_energy_j + memory_energy_j + static_w * device_count * latency_s AS energy_j,
    static_w,
    tdp_w,
    clock_fraction,
    -- Highest power of any kernel while it keeps the device busy; null when a coefficient is missing. It may exceed `tdp_w`, because
    -- the limit applies to the average power of the run. [W]
    static_w + peak_dynamic_w AS peak_power_w,
    -- Share of the units' peak that remains after losses from tile shapes and partial waves, averaged over busy time.
    utilized_s / NULLIF(busy_s, 0e0) AS utilization_fraction,
    -- Resource that sets the pace for the largest part of the time: `compute`, `memory`, `power`, `threads` or `overhead`.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN latency_s - busy_s >= GREATEST(compute_s, memory_s, power_s, team_s) THEN 'overhead'
        WHEN team_s >= GREATEST(compute_s, memory_s, power_s) THEN 'threads'
        WHEN power_s >= GREATEST(compute_s, memory_s) THEN 'power'
        WHEN compute_s >= memory_s THEN 'compute'
        ELSE 'memory'
    END AS bottleneck
FROM timed_runs
