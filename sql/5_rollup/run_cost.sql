-- Time and energy of every run on every part; on several devices, work and traffic of each of them and the energy of all. A kernel that
-- the host issues ahead of the device starts when both are ready, so
-- that the run ends at the sum of device times plus the largest lead of the host, as in `kernel_time`. Host and device add
-- where dispatch is `serial`; a `graph` is launched once. What the run pays once is run_call_s.
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
    -- Kernels launched.
    CAST(kernel_count AS BIGINT) AS kernel_count,
    macs,
    flops,
    -- Bytes that cross kernel borders. [byte]
    traffic_byte,
    -- Traffic of main memory. [byte]
    dram_byte,
    -- Time of one run. [s]
    latency_s,
    -- Part of it in which arithmetic sets the pace. [s]
    compute_s,
    -- Part of it in which a memory level sets the pace. [s]
    memory_s,
    -- Part of it in kernels of which the power limit or the power mode sets the pace. [s]
    power_s,
    -- Part of it in which teams of threads begin and end. [s]
    team_s,
    -- Part of it in which the device waits: the call, dispatch and gaps. [s]
    latency_s - busy_s AS overhead_s,
    -- Host time of the call and time on links, paid once. [s]
    run_call_s,
    exchange_s,
    weight_s,
    cache_s,
    -- What takes the largest part of the time: `weights`, `cache`, `activations`, `compute`, `links` or `host`.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN latency_s - busy_s - exchange_s >= GREATEST(compute_s + power_s, memory_s, exchange_s) THEN 'host'
        WHEN exchange_s >= GREATEST(compute_s + power_s, memory_s) THEN 'links'
        WHEN compute_s + power_s >= memory_s THEN 'compute'
        WHEN weight_s >= GREATEST(cache_s, memory_s - weight_s - cache_s) THEN 'weights'
        WHEN cache_s >= memory_s - weight_s - cache_s THEN 'cache'
        ELSE 'activations'
    END AS step_limit,
    -- Operations in the time over those at the dense peak of the policy's precision: model FLOPs utilization.
    flops / NULLIF(latency_s * dense_ops_per_s, 0e0) AS mfu_fraction,
    -- Bytes of main memory in the time over those at its bandwidth: model bandwidth utilization.
    dram_byte / NULLIF(latency_s * dram_byte_per_s, 0e0) AS mbu_fraction,
    -- Device time alone, gaps included. [s]
    device_s,
    -- Host time to issue everything, the call included. [s]
    host_issue_s + run_call_s AS host_issue_s,
    -- Time at the peak of all units with no memory: the naive figure. [s]
    naive_s,
    -- Sum of the kernels' roofline bounds. [s]
    roofline_s,
    compute_energy_j,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    memory_energy_j,
    -- Static power at the clock of the run, static_w, of all devices times latency_s; null when a coefficient is missing. [J]
    static_w * device_count * latency_s AS static_energy_j,
    -- Static energy of units for the time and the share in which they do not work; null when a coefficient is missing. [J]
    static_w * device_count * (latency_s - working_s) AS wasted_energy_j,
    peak_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    compute_energy_j + memory_energy_j + static_w * device_count * latency_s AS energy_j,
    static_w,
    tdp_w,
    clock_fraction,
    -- Highest power of any kernel while it keeps the device busy; null when a coefficient is missing. [W]
    static_w + peak_dynamic_w AS peak_power_w,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    utilized_s / NULLIF(busy_s, 0e0) AS utilization_fraction,
    -- What sets the pace for the largest part of the time: `compute`, `memory`, `power`, `threads` or `overhead`.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN latency_s - busy_s >= GREATEST(compute_s, memory_s, power_s, team_s) THEN 'overhead'
        WHEN team_s >= GREATEST(compute_s, memory_s, power_s) THEN 'threads'
        WHEN power_s >= GREATEST(compute_s, memory_s) THEN 'power'
        WHEN compute_s >= memory_s THEN 'compute'
        ELSE 'memory'
    END AS bottleneck
FROM timed_runs
