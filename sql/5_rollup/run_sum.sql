-- Sums of every run over its distinct shapes, each weighted by its number of kernels, and the largest lead of the host over the
-- device, max over j of (issue_j - D_(j-1)). Only the lead depends on the order of the kernels.
-- Grain: run, hardware
CREATE VIEW run_sum AS
WITH queued_kernels AS (
    SELECT
        s.* EXCLUDE (kernel_count, launch_count, view_count),
        CASE WHEN k.kernel_id <> k.shape_id THEN 0 ELSE s.kernel_count END AS kernel_count,
        CASE WHEN k.kernel_id <> k.shape_id THEN 0 ELSE s.launch_count END AS launch_count,
        CASE WHEN k.kernel_id <> k.shape_id THEN 0 ELSE s.view_count END AS view_count,
        s.host_factor * (
            (k.position + 1 - CASE WHEN s.bias_is_kernel THEN 0 ELSE k.issued_bias_count END) * s.host_kernel_s
            + k.issued_view_count * s.host_view_s
        ) AS issued_s,
        SUM(s.device_s) OVER (
            PARTITION BY s.run, s.hardware ORDER BY k.position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS device_end_s
    FROM clocked_shape AS s
    LEFT JOIN run_kernel AS k ON k.run = s.run AND k.shape_id = s.shape_id AND s.dispatch = 'async_queue'
),

summed_shapes AS (
    SELECT
        run, hardware, SUM(launch_count) AS kernel_count,
        MAX(exchange_s) AS exchange_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END
            * weight_byte / NULLIF(traffic_byte, 0e0)) AS weight_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END
            * kv_cache_byte / NULLIF(traffic_byte, 0e0)) AS cache_s,
        SUM(view_count) AS view_count,
        SUM(kernel_count * macs) AS macs,
        SUM(kernel_count * flops) AS flops,
        SUM(kernel_count * moved_byte) AS traffic_byte,
        SUM(kernel_count * dram_byte) AS dram_byte,
        SUM(kernel_count * busy_s) AS busy_s,
        SUM(CASE WHEN is_power_bound OR compute_s < memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS compute_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS memory_s,
        SUM(CASE WHEN is_power_bound THEN kernel_count * busy_s WHEN NOT is_power_bound THEN 0e0 END) AS power_s,
        SUM(CASE WHEN is_power_bound THEN 0e0 ELSE kernel_count * team_s END) AS team_s,
        SUM(kernel_count * device_s + (launch_count - kernel_count) * kernel_gap_s) AS device_s,
        SUM(kernel_count * naive_s) AS naive_s,
        SUM(kernel_count * roofline_s) AS roofline_s,
        SUM(kernel_count * device_count * compute_energy_j) + CASE WHEN COUNT(*) > COUNT(compute_energy_j) THEN NULL ELSE 0e0 END
            AS compute_energy_j,
        SUM(kernel_count * device_count * memory_energy_j) + CASE WHEN COUNT(*) > COUNT(memory_energy_j) THEN NULL ELSE 0e0 END
            AS memory_energy_j,
        SUM(kernel_count * busy_s * LEAST(utilization_fraction, units_allocated / NULLIF(unit_count, 0e0))) AS working_s,
        SUM(kernel_count * busy_s * utilization_fraction) AS utilized_s,
        MAX(dynamic_energy_j / NULLIF(busy_s, 0e0))
        + CASE WHEN COUNT(*) > COUNT(dynamic_energy_j) THEN NULL ELSE 0e0 END AS peak_dynamic_w,
        MAX(dynamic_energy_j + static_w * device_s)
        + CASE WHEN COUNT(*) > COUNT(dynamic_energy_j) THEN NULL ELSE 0e0 END AS peak_energy_j,
        -- A fault of one kernel makes all sums of the run null.
        MAX(fault) AS fault,
        MAX(static_w) AS static_w,
        MAX(tdp_w) AS tdp_w,
        MAX(clock_fraction) AS clock_fraction,
        MAX(dispatch) AS dispatch,
        MAX(host_kernel_s) AS host_kernel_s,
        MAX(host_view_s) AS host_view_s,
        MAX(run_call_s) AS run_call_s,
        MAX(dram_byte_per_s) AS dram_byte_per_s,
        MAX(dense_ops_per_s) AS dense_ops_per_s,
        MAX(issued_s - device_end_s + device_s) AS lead_s
    FROM queued_kernels
    GROUP BY run, hardware
)

SELECT
    s.run,
    s.hardware,
    -- Number of kernels launched.
    CAST(s.kernel_count AS BIGINT) AS kernel_count,
    CAST(s.view_count AS BIGINT) AS view_count,
    s.macs,
    s.flops,
    -- Bytes that cross kernel borders. [byte]
    s.traffic_byte,
    s.dram_byte,
    -- Time in which kernels keep the device busy. [s]
    CASE WHEN s.fault IS NULL THEN s.busy_s END AS busy_s,
    -- Part of `busy_s` in which arithmetic sets the pace. [s]
    CASE WHEN s.fault IS NULL THEN s.compute_s END AS compute_s,
    -- Part of `busy_s` in which a memory level sets the pace. [s]
    CASE WHEN s.fault IS NULL THEN s.memory_s END AS memory_s,
    -- Part of `busy_s` in kernels that the power limit or the power mode slows down. [s]
    CASE WHEN s.fault IS NULL THEN s.power_s END AS power_s,
    -- Part of `busy_s` in which thread teams start and join. [s]
    CASE WHEN s.fault IS NULL THEN s.team_s END AS team_s,
    -- Device time, gaps between kernels included. [s]
    CASE WHEN s.fault IS NULL THEN s.device_s END AS device_s,
    -- Naive time: all units at their peak, without memory. [s]
    CASE WHEN s.fault IS NULL THEN s.naive_s END AS naive_s,
    -- Sum of the kernels' roofline bounds. [s]
    CASE WHEN s.fault IS NULL THEN s.roofline_s END AS roofline_s,
    s.compute_energy_j,
    s.memory_energy_j,
    -- Busy time weighted by the share of units that work: units with tiles, less losses from tile shapes and partial waves. [s]
    CASE WHEN s.fault IS NULL THEN s.working_s END AS working_s,
    -- Busy time weighted by the share of the peak that remains after losses from tile shapes and partial waves. [s]
    CASE WHEN s.fault IS NULL THEN s.utilized_s END AS utilized_s,
    -- Highest dynamic power of any kernel while it is busy; null when a coefficient is missing. [W]
    s.peak_dynamic_w,
    -- Largest energy of any kernel, without static energy while waiting for the host; null when a coefficient is missing. [J]
    CASE WHEN s.fault IS NULL THEN s.peak_energy_j END AS peak_energy_j,
    s.static_w,
    s.tdp_w,
    s.clock_fraction,
    s.dispatch,
    s.host_kernel_s,
    s.host_view_s,
    s.run_call_s,
    s.exchange_s,
    -- Part of `memory_s` in which weights are read. [s]
    CASE WHEN s.fault IS NULL THEN s.weight_s END AS weight_s,
    -- Part of `memory_s` in which the KV cache is read. [s]
    CASE WHEN s.fault IS NULL THEN s.cache_s END AS cache_s,
    s.dram_byte_per_s,
    s.dense_ops_per_s,
    -- Largest lead of the host over the device; null if the host does not run ahead. [s]
    s.lead_s
FROM summed_shapes AS s
