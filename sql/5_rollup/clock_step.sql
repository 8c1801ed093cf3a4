-- Every shape on every part with what the power limit of its run acts on: the limit of the power mode, and six clocks from the
-- fullest that the mode allows down to the slowest, in equal ratios. A mode is one of the part's own by its name, or a limit in
-- watts at the default clocks; parts that have no mode of the name asked for, cannot be set to a limit so low, or have no link
-- for as many devices as the run has or to the host's memory that it rests on, are left out.
-- Grain: run, hardware, shape_id
CREATE VIEW clock_step AS
-- A device reads more than its share of the work where heads of keys are fewer than devices: it does so many whole kernels as it reads
-- bytes of, each with less arithmetic.
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
        -- What memory wants under way is no less for a part of a kernel (`cost_dram`).
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
    -- Device time between two dependent kernels: the part's gap under the backend, and what its version takes to launch one. [s]
    kernel_gap_s,
    -- Kernels of the shape, each as much of one as a device of the run does of it.
    kernel_count,
    -- Kernels of the shape that a device launches.
    launch_count,
    device_count,
    -- Time of a run in which its devices send one another partial results, and weights, cache and inputs come from the host's
    -- memory before the kernels that read them; a processor has them there. [s]
    exchange_s,
    -- Power that the run may draw on average; null when unknown. [W]
    limit_w,
    -- Fullest clock of the power mode, against the full clock of the default one.
    clock_0,
    -- Host time to issue the kernels of the shape; 0 where one launch starts them all. [s]
    CASE
        WHEN dispatch = 'graph' THEN 0e0
        ELSE (launch_count * host_kernel_s + view_count * host_view_s) * host_factor
    END AS issue_s,
    -- Host time of the whole run, paid once and part of no kernel: by the version of the backend, or else the part's row;
    -- with what its devices send one another. [s]
    run_call_s,
    -- Clock 1/5 of the way down to the slowest, against the full clock of the default power mode, in equal ratios.
    clock_0 * POWER(clock_floor, 0.2e0) AS clock_1,
    -- Clock 2/5 of the way down to the slowest, against the full clock of the default power mode, in equal ratios.
    clock_0 * POWER(clock_floor, 0.4e0) AS clock_2,
    -- Clock 3/5 of the way down to the slowest, against the full clock of the default power mode, in equal ratios.
    clock_0 * POWER(clock_floor, 0.6e0) AS clock_3,
    -- Clock 4/5 of the way down to the slowest, against the full clock of the default power mode, in equal ratios.
    clock_0 * POWER(clock_floor, 0.8e0) AS clock_4,
    -- Clock 5/5 of the way down to the slowest, against the full clock of the default power mode, in equal ratios.
    clock_0 * POWER(clock_floor, 1.0e0) AS clock_5
FROM limited_shapes
