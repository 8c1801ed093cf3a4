-- Additive time and energy of every kernel on every target: device time behind the host's dispatch.
-- `async_queue`: kernel i ends at cumulative device time plus the largest lead of the host so far,
-- end_i = D_i + max over j <= i of (issue_j - D_(j-1)), and latency_s = end_i - end_(i-1). `serial`: host and
-- device add. `graph`: one launch before the first kernel. Only latency_s adds up to the model's time.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW kernel_latency (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Readable name.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Operator that gives it its character.
    anchor_operator_id,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Everything that crosses the kernel's border. [byte]
    traffic_byte,
    -- Outputs written. [byte]
    output_byte,
    -- Part of the traffic the last-level cache serves. [byte]
    resident_byte,
    -- Traffic of main memory. [byte]
    dram_byte,
    -- Time of the arithmetic. [s]
    compute_s,
    -- Time of main memory. [s]
    dram_s,
    -- Time of the last-level cache. [s]
    cache_s,
    -- Time of the memories next to the units. [s]
    reload_s,
    -- Time of the slowest memory level. [s]
    memory_s,
    -- Level of memory_s.
    memory_level,
    -- The part of the faster of compute_s and memory_s that does not overlap. [s]
    serial_s,
    -- Time in which the team of threads begins and ends. [s]
    team_s,
    -- Least time the power limit allows; null when the power is unknown. [s]
    power_s,
    -- Power the part may draw; null when unknown. [W]
    tdp_w,
    -- Peak arithmetic rate of the unit used. [ops/s]
    peak_ops_per_s,
    -- Time at the peak of all units with no memory: the naive figure. [s]
    naive_s,
    -- Roofline bound. [s]
    roofline_s,
    -- True when the power limit, nothing else, sets busy_s.
    is_power_bound,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- How the backend dispatches: `async_queue`, `serial` or `graph`.
    dispatch,
    -- Host time to issue the kernel and the views before it. [s]
    host_issue_s,
    -- Time the kernel keeps the device busy. [s]
    busy_s,
    -- busy_s plus the gap between kernels. [s]
    device_s,
    -- When it ends, from the start of the run. [s]
    end_s,
    -- What it adds to the run. [s]
    latency_s,
    -- Part of latency_s in which the device waits: dispatch and gaps. [s]
    overhead_s,
    -- Energy of the arithmetic; null when a coefficient is missing. [J]
    compute_energy_j,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    memory_energy_j,
    -- Energy of arithmetic and traffic; null when a coefficient is missing. [J]
    dynamic_energy_j,
    -- Static power times latency_s; null when a coefficient is missing. [J]
    static_energy_j,
    -- Static energy of units without work; null when a coefficient is missing. [J]
    wasted_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    energy_j
) AS
WITH issued_kernels AS (
    SELECT
        c.model_id,
        c.scenario_id,
        c.hardware_id,
        c.subgraph_id,
        c.position,
        c.subgraph,
        c.kernel_class,
        c.anchor_operator_id,
        c.macs,
        c.flops,
        c.traffic_byte,
        c.output_byte,
        c.resident_byte,
        c.dram_byte,
        c.compute_s,
        c.dram_s,
        c.cache_s,
        c.reload_s,
        c.memory_s,
        c.memory_level,
        c.serial_s,
        c.team_s,
        c.power_s,
        c.tdp_w,
        c.peak_ops_per_s,
        c.naive_s,
        c.roofline_s,
        c.is_power_bound,
        c.utilization_fraction,
        c.compute_energy_j,
        c.dram_energy_j + c.cache_energy_j AS memory_energy_j,
        t.dispatch,
        c.busy_s,
        c.device_s,
        c.units_allocated / NULLIF(c.unit_count, 0e0) AS allocated_fraction,
        c.static_w,
        c.compute_energy_j + c.dram_energy_j + c.cache_energy_j AS dynamic_energy_j,
        CASE
            WHEN t.dispatch = 'graph' THEN 0e0
            ELSE t.host_kernel_s + c.view_count * t.host_view_s
        END AS host_kernel_s,
        CASE
            WHEN ROW_NUMBER() OVER (
                PARTITION BY c.model_id, c.scenario_id, c.hardware_id ORDER BY c.position, c.subgraph_id
            ) = 1 THEN t.run_s
            ELSE 0e0
        END AS run_s
    FROM kernel_cost AS c
    INNER JOIN target AS t
        ON t.model_id = c.model_id AND t.scenario_id = c.scenario_id AND t.hardware_id = c.hardware_id
),

cumulated_times AS (
    SELECT
        *,
        host_kernel_s + run_s AS host_issue_s,
        SUM(host_kernel_s + run_s) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY position, subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS issue_s,
        SUM(device_s) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY position, subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS device_end_s
    FROM issued_kernels
),

queued_kernels AS (
    SELECT
        *,
        CASE
            WHEN dispatch = 'async_queue' THEN device_end_s + MAX(issue_s - (device_end_s - device_s)) OVER (
                PARTITION BY model_id, scenario_id, hardware_id ORDER BY position, subgraph_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
            ELSE issue_s + device_end_s
        END AS end_s
    FROM cumulated_times
),

additive_times AS (
    SELECT
        *,
        end_s - COALESCE(LAG(end_s) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY position, subgraph_id
        ), 0e0) AS latency_s
    FROM queued_kernels
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    position,
    subgraph,
    kernel_class,
    anchor_operator_id,
    macs,
    flops,
    traffic_byte,
    output_byte,
    resident_byte,
    dram_byte,
    compute_s,
    dram_s,
    cache_s,
    reload_s,
    memory_s,
    memory_level,
    serial_s,
    team_s,
    power_s,
    tdp_w,
    peak_ops_per_s,
    naive_s,
    roofline_s,
    is_power_bound,
    utilization_fraction,
    dispatch,
    host_issue_s,
    busy_s,
    device_s,
    end_s,
    latency_s,
    GREATEST(0e0, latency_s - busy_s) AS overhead_s,
    compute_energy_j,
    memory_energy_j,
    dynamic_energy_j,
    static_w * latency_s AS static_energy_j,
    static_w * (latency_s - busy_s * allocated_fraction) AS wasted_energy_j,
    dynamic_energy_j + static_w * latency_s AS energy_j
FROM additive_times
