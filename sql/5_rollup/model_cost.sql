-- Sums of every run on every part. A kernel that the host issues ahead of the device starts when both are ready, so that the
-- run ends at the sum of device times plus the largest lead of the host: D + max over j of (issue_j - D_(j-1)), as in
-- `kernel_time`. Host and device add where dispatch is `serial`; a `graph` is launched once. What the run pays once is call_s.
-- Sums go over distinct shapes, times their kernels; only the queue needs the order.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_cost AS
WITH shape_costs AS (
    SELECT * FROM shape_cost
),

queued_kernels AS (
    SELECT
        k.model,
        s.hardware,
        k.backend,
        k.precision,
        k.batch,
        k.sequence,
        k.scenario_id,
        r.host_factor * (
            (k.position + 1 - CASE WHEN s.bias_is_kernel THEN 0 ELSE k.issued_bias_count END) * s.host_kernel_s
            + k.issued_view_count * s.host_view_s
        ) AS issued_s,
        s.device_s,
        SUM(s.device_s) OVER (
            PARTITION BY k.model, s.hardware, k.backend, k.precision, k.batch, k.sequence, k.scenario_id ORDER BY k.position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS device_end_s
    FROM run_kernel AS k
    INNER JOIN run AS r
        ON r.model = k.model AND r.backend = k.backend AND r.precision = k.precision AND r.batch = k.batch
        AND r.sequence = k.sequence AND r.scenario_id = k.scenario_id
    INNER JOIN shape_costs AS s
        ON s.model = k.model AND s.backend = k.backend AND s.precision = k.precision AND s.batch = k.batch
        AND s.sequence = k.sequence AND s.scenario_id = k.scenario_id AND s.shape_id = k.shape_id
    WHERE s.dispatch = 'async_queue'
),

host_leads AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        MAX(issued_s - device_end_s + device_s) AS lead_s
    FROM queued_kernels
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
),

summed_shapes AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        SUM(kernel_count) AS kernel_count,
        SUM(view_count) AS view_count,
        SUM(kernel_count * macs) AS macs,
        SUM(kernel_count * flops) AS flops,
        SUM(kernel_count * moved_byte) AS traffic_byte,
        SUM(kernel_count * dram_byte) AS dram_byte,
        SUM(kernel_count * busy_s) AS busy_s,
        SUM(CASE WHEN is_power_bound OR compute_s < memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS compute_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS memory_s,
        SUM(CASE WHEN is_power_bound THEN kernel_count * busy_s ELSE 0e0 END) AS power_s,
        SUM(CASE WHEN is_power_bound THEN 0e0 ELSE kernel_count * team_s END) AS team_s,
        SUM(kernel_count * device_s) AS device_s,
        SUM(kernel_count * naive_s) AS naive_s,
        SUM(kernel_count * roofline_s) AS roofline_s,
        SUM(kernel_count * compute_energy_j) + CASE WHEN COUNT(*) > COUNT(compute_energy_j) THEN NULL ELSE 0e0 END
            AS compute_energy_j,
        SUM(kernel_count * memory_energy_j) + CASE WHEN COUNT(*) > COUNT(memory_energy_j) THEN NULL ELSE 0e0 END
            AS memory_energy_j,
        SUM(kernel_count * busy_s * units_allocated) / NULLIF(MAX(unit_count), 0e0) AS allocated_s,
        SUM(kernel_count * busy_s * utilization_fraction) AS utilized_s,
        MAX(dynamic_energy_j / NULLIF(busy_s, 0e0))
        + CASE WHEN COUNT(*) > COUNT(dynamic_energy_j) THEN NULL ELSE 0e0 END AS peak_dynamic_w,
        MAX(static_w) AS static_w,
        MAX(dispatch) AS dispatch,
        MAX(host_kernel_s) AS host_kernel_s,
        MAX(host_view_s) AS host_view_s,
        MAX(call_s) AS call_s
    FROM shape_costs
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
),

issued_runs AS (
    SELECT
        s.*,
        r.context,
        r.phase,
        r.memory_format,
        r.host_factor,
        r.cache_state,
        l.lead_s,
        CASE
            WHEN s.dispatch = 'graph' THEN 0e0
            ELSE (s.kernel_count * s.host_kernel_s + s.view_count * s.host_view_s) * r.host_factor
        END AS host_issue_s
    FROM summed_shapes AS s
    INNER JOIN run AS r
        ON r.model = s.model AND r.backend = s.backend AND r.precision = s.precision AND r.batch = s.batch
        AND r.sequence = s.sequence AND r.scenario_id = s.scenario_id
    LEFT JOIN host_leads AS l
        ON l.model = s.model AND l.hardware = s.hardware AND l.backend = s.backend AND l.precision = s.precision
        AND l.batch = s.batch AND l.sequence = s.sequence AND l.scenario_id = s.scenario_id
),

timed_runs AS (
    SELECT
        *,
        call_s * host_factor AS run_call_s,
        call_s * host_factor + device_s + COALESCE(lead_s, host_issue_s) AS latency_s
    FROM issued_runs
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    host_factor,
    cache_state,
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
    -- Part of it in which the power limit sets the pace. [s]
    power_s,
    -- Part of it in which teams of threads begin and end. [s]
    team_s,
    -- Part of it in which the device waits: the call, dispatch and gaps. [s]
    latency_s - busy_s AS overhead_s,
    -- Host time of the call, paid once. [s]
    run_call_s,
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
    -- Static power times latency_s; null when a coefficient is missing. [J]
    static_w * latency_s AS static_energy_j,
    -- Static energy of units without work; null when a coefficient is missing. [J]
    static_w * (latency_s - allocated_s) AS wasted_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    compute_energy_j + memory_energy_j + static_w * latency_s AS energy_j,
    -- Highest power of any kernel while it keeps the device busy; null when a coefficient is missing. [W]
    static_w + peak_dynamic_w AS peak_power_w,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    utilized_s / NULLIF(busy_s, 0e0) AS utilization_fraction,
    -- What sets the pace for the largest part of the time: `compute`, `memory`, `power`, `threads` or `overhead`.
    CASE
        WHEN latency_s - busy_s >= GREATEST(compute_s, memory_s, power_s, team_s) THEN 'overhead'
        WHEN team_s >= GREATEST(compute_s, memory_s, power_s) THEN 'threads'
        WHEN power_s >= GREATEST(compute_s, memory_s) THEN 'power'
        WHEN compute_s >= memory_s THEN 'compute'
        ELSE 'memory'
    END AS bottleneck
FROM timed_runs
