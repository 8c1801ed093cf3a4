-- Sums of every run on every part: the additive times and energies of its kernels.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW model_cost (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernels launched.
    kernel_count,
    -- Multiply-accumulates.
    macs,
    -- Operations.
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
    -- Part of it in which the device waits: dispatch and gaps. [s]
    overhead_s,
    -- Device time alone, gaps included. [s]
    device_s,
    -- Host time to issue everything. [s]
    host_issue_s,
    -- Time at the peak of all units with no memory: the naive figure. [s]
    naive_s,
    -- Sum of the kernels' roofline bounds. [s]
    roofline_s,
    -- Energy of the arithmetic; null when a coefficient is missing. [J]
    compute_energy_j,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    memory_energy_j,
    -- Static power times latency_s; null when a coefficient is missing. [J]
    static_energy_j,
    -- Static energy of units without work; null when a coefficient is missing. [J]
    wasted_energy_j,
    -- Total energy; null when a coefficient is missing. [J]
    energy_j,
    -- Highest power of any kernel; null when a coefficient is missing. [W]
    peak_power_w,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    utilization_fraction,
    -- What sets the pace for the largest part of the time: `compute`, `memory`, `power`, `threads` or `overhead`.
    bottleneck
) AS
WITH summed_kernels AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        CAST(COUNT(*) AS BIGINT) AS kernel_count,
        SUM(macs) AS macs,
        SUM(flops) AS flops,
        SUM(traffic_byte) AS traffic_byte,
        SUM(dram_byte) AS dram_byte,
        SUM(latency_s) AS latency_s,
        SUM(CASE WHEN is_power_bound OR compute_s < memory_s THEN 0e0 ELSE latency_s - overhead_s - team_s END) AS compute_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE latency_s - overhead_s - team_s END) AS memory_s,
        SUM(CASE WHEN is_power_bound THEN latency_s - overhead_s ELSE 0e0 END) AS power_s,
        SUM(CASE WHEN is_power_bound THEN 0e0 ELSE team_s END) AS team_s,
        SUM(overhead_s) AS overhead_s,
        SUM(device_s) AS device_s,
        SUM(host_issue_s) AS host_issue_s,
        SUM(naive_s) AS naive_s,
        SUM(roofline_s) AS roofline_s,
        SUM(compute_energy_j) + CASE WHEN COUNT(*) > COUNT(compute_energy_j) THEN NULL ELSE 0e0 END AS compute_energy_j,
        SUM(memory_energy_j) + CASE WHEN COUNT(*) > COUNT(memory_energy_j) THEN NULL ELSE 0e0 END AS memory_energy_j,
        SUM(static_energy_j) + CASE WHEN COUNT(*) > COUNT(static_energy_j) THEN NULL ELSE 0e0 END AS static_energy_j,
        SUM(wasted_energy_j) + CASE WHEN COUNT(*) > COUNT(wasted_energy_j) THEN NULL ELSE 0e0 END AS wasted_energy_j,
        SUM(energy_j) + CASE WHEN COUNT(*) > COUNT(energy_j) THEN NULL ELSE 0e0 END AS energy_j,
        MAX(energy_j / NULLIF(latency_s, 0e0)) AS peak_power_w,
        SUM(utilization_fraction * busy_s) / NULLIF(SUM(busy_s), 0e0) AS utilization_fraction
    FROM kernel_latency
    GROUP BY model_id, scenario_id, hardware_id
)

SELECT
    *,
    CASE
        WHEN overhead_s >= GREATEST(compute_s, memory_s, power_s, team_s) THEN 'overhead'
        WHEN team_s >= GREATEST(compute_s, memory_s, power_s) THEN 'threads'
        WHEN power_s >= GREATEST(compute_s, memory_s) THEN 'power'
        WHEN compute_s >= memory_s THEN 'compute'
        ELSE 'memory'
    END AS bottleneck
FROM summed_kernels
