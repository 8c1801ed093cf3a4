-- Every shape on every part with the inputs of the power limit: the limit of the power mode and six clocks in equal ratios, from
-- the mode's highest clock to the lowest. A power mode is a named mode of the part, or a limit in watts at the default clocks. A
-- part is left out if it lacks the mode, cannot be limited to so little power, or lacks the links to other devices or to the host
-- that the run needs.
-- Grain: run, hardware, shape_id
CREATE VIEW clock_step AS
-- With fewer key-value heads than devices, a device's share of the bytes exceeds its share of the work. The kernel count is then
-- the share of the bytes, and the arithmetic of each kernel is reduced.
WITH worked_shapes AS (
    SELECT
        s.*,
        w.device_share,
        COALESCE(w.moved_share, 1e0) AS moved_share,
        COALESCE(w.device_share / NULLIF(w.moved_share, 0e0), 1e0) AS work_share
    FROM shape_cost AS s
    LEFT JOIN shape_share AS w ON w.run = s.run AND w.shape_id = s.shape_id
),

shared_shapes AS (
    SELECT
        * EXCLUDE (
            macs, flops, compute_s, feed_s, naive_s, roofline_s, serial_s, unlimited_s, product_energy_j, vector_energy_j,
            compute_energy_j, dynamic_energy_j, clocked_energy_j
        ),
        macs * work_share AS macs,
        flops * work_share AS flops,
        compute_s * work_share AS compute_s,
        feed_s * work_share AS feed_s,
        naive_s * work_share AS naive_s,
        CASE
            WHEN work_share = 1e0 THEN roofline_s
            ELSE GREATEST(naive_s * work_share, dram_byte / NULLIF(dram_byte_per_s, 0e0))
        END AS roofline_s,
        CASE WHEN work_share = 1e0 THEN serial_s ELSE serial_time(compute_s * work_share, memory_s, overlap_fraction) END AS serial_s,
        CASE
            WHEN work_share = 1e0 THEN unlimited_s
            ELSE busy_time(compute_s * work_share, memory_s, feed_s * work_share, exposed_s, overlap_fraction)
        END AS unlimited_s,
        product_energy_j * work_share AS product_energy_j,
        vector_energy_j * work_share AS vector_energy_j,
        compute_energy_j * work_share AS compute_energy_j,
        dynamic_energy_j - compute_energy_j * (1e0 - work_share) AS dynamic_energy_j,
        clocked_energy_j - compute_energy_j * (1e0 - work_share) AS clocked_energy_j
    FROM worked_shapes
),

limited_shapes AS (
    SELECT
        s.* EXCLUDE (kernel_count, kernel_gap_s, launch_s, launch_share, device_share, moved_share, work_share),
        s.kernel_gap_s * s.launch_share + s.launch_s AS kernel_gap_s,
        -- A part of a kernel needs as many bytes in flight as the whole kernel (`cost_dram`).
        s.kernel_count * CASE
            WHEN s.device_share IS NULL THEN 1e0
            WHEN s.compute_s < s.memory_s
                THEN s.moved_share + (1e0 - s.moved_share) * s.memory_half_byte * s.stated_unit_count
                    / NULLIF(s.dram_byte + s.memory_half_byte * s.stated_unit_count, 0e0)
            ELSE s.moved_share
        END AS kernel_count,
        s.kernel_count AS launch_count,
        r.device_count,
        t.dispatch,
        t.host_kernel_s,
        t.host_view_s,
        t.is_simulated,
        t.dense_ops_per_s,
        t.tdp_w,
        t.static_w,
        t.clocking_w,
        t.standby_w,
        t.reference_fraction,
        t.voltage_slope,
        t.voltage_floor,
        t.voltage_ceiling,
        t.clock_floor,
        t.main_memory_byte,
        CASE WHEN r.device_count = 1 THEN 0e0 ELSE ring_time(
            r.device_count, CASE WHEN r.merges_kernels THEN 0e0 ELSE c.all_reduce_byte END,
            CASE WHEN r.merges_kernels THEN 0e0 ELSE c.all_reduce_count END, c.all_gather_byte, c.all_gather_count,
            l.collective_byte_per_s, l.collective_call_s, l.collective_step_s
        ) END
        + CASE
            WHEN r.device_count = 1 OR NOT r.merges_kernels THEN 0e0
            ELSE direct_time(r.device_count, c.all_reduce_byte, c.all_reduce_count, l.direct_byte_per_s, l.direct_call_s)
        END
        + CASE WHEN s.host_byte = 0e0 THEN 0e0 ELSE s.host_byte / NULLIF(t.host_link_byte_per_s, 0e0) END
        + CASE
            WHEN s.host_input_byte = 0e0 OR t.dispatch = 'serial' THEN 0e0
            ELSE t.host_link_s + s.host_input_byte / NULLIF(t.host_link_byte_per_s, 0e0)
        END AS exchange_s,
        r.context,
        r.phase,
        r.host_factor,
        COALESCE(r.engine_s, t.call_s) * r.host_factor + exchange_s AS run_call_s,
        r.power,
        CASE WHEN r.power = 'default' THEN t.tdp_w ELSE COALESCE(m.tdp_w, r.power_w) END AS limit_w,
        COALESCE(m.clock_fraction / NULLIF(t.default_clock_fraction, 0e0), 1e0) AS clock_0
    FROM shared_shapes AS s
    INNER JOIN run AS r ON r.run = s.run
    INNER JOIN part_support AS t ON t.hardware = s.hardware AND t.backend = s.run.backend AND t.precision = s.run.precision
    LEFT JOIN run_collective AS c ON c.run = s.run
    LEFT JOIN part_link AS l
        ON l.hardware = s.hardware AND r.device_count BETWEEN l.least_device_count AND l.link_device_count
    LEFT JOIN hardware_power AS m ON m.hardware = s.hardware AND m.mode = r.power
    WHERE (r.power = 'default' OR m.hardware IS NOT NULL OR r.power_w >= COALESCE(t.least_w, 0e0))
        AND (r.device_count = 1 OR l.hardware IS NOT NULL)
        AND (s.host_byte = 0e0 OR t.has_host_link)
        AND (s.host_input_byte = 0e0 OR t.dispatch = 'serial' OR t.has_host_link)
)

SELECT
    * EXCLUDE (limit_w, clock_0, run_call_s, kernel_count, launch_count, device_count, exchange_s, kernel_gap_s),
    -- Device time between two dependent kernels: the part's gap under the backend, plus the launch time of the engine's version.
    -- [s]
    kernel_gap_s,
    -- Number of kernels of the shape; a kernel that several devices share counts as the fraction that one device executes.
    kernel_count,
    -- Number of kernels of the shape that one device launches.
    launch_count,
    device_count,
    -- Time for the devices of a run to exchange partial results, and for weights, cache and inputs to arrive from the host's memory
    -- before the kernels that read them. A processor needs no transfer from the host. [s]
    exchange_s,
    -- Average power that the run may draw; null when unknown. [W]
    limit_w,
    -- Ratio of the highest clock of the power mode to the full clock of the default one.
    clock_0,
    -- Host time to issue the kernels of the shape; 0 where one launch starts all kernels. [s]
    CASE
        WHEN dispatch = 'graph' THEN 0e0
        ELSE (launch_count * host_kernel_s + view_count * host_view_s) * host_factor
    END AS issue_s,
    -- Time paid once per run, outside of kernels: the host time of the engine's version, else of the part's row, plus `exchange_s`.
    -- [s]
    run_call_s,
    -- Clock 1/5 of the way to the lowest, in equal ratios, relative to the full clock of the default power mode.
    clock_0 * POWER(clock_floor, 0.2e0) AS clock_1,
    -- Clock 2/5 of the way to the lowest, in equal ratios, relative to the full clock of the default power mode.
    clock_0 * POWER(clock_floor, 0.4e0) AS clock_2,
    -- Clock 3/5 of the way to the lowest, in equal ratios, relative to the full clock of the default power mode.
    clock_0 * POWER(clock_floor, 0.6e0) AS clock_3,
    -- Clock 4/5 of the way to the lowest, in equal ratios, relative to the full clock of the default power mode.
    clock_0 * POWER(clock_floor, 0.8e0) AS clock_4,
    -- Lowest clock, relative to the full clock of the default power mode.
    clock_0 * POWER(clock_floor, 1.0e0) AS clock_5
FROM limited_shapes
