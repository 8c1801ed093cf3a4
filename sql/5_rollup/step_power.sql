-- Average power of every run on every part at each of six clocks. Dynamic power is proportional to the clock and the square of the
-- voltage, the voltage falls with the clock down to a floor, leakage is proportional to the square of the voltage, and main memory
-- keeps its clock.
-- Grain: run, hardware, shape_id
CREATE VIEW step_power AS
WITH summed_shapes AS (
    SELECT
        *,
        SUM(kernel_count * clocked_energy_j) OVER same_run AS run_clocked_j,
        SUM(kernel_count * (dynamic_energy_j - clocked_energy_j)) OVER same_run AS run_memory_j,
        COUNT(*) OVER same_run = COUNT(dynamic_energy_j) OVER same_run AS is_energy_known,
        SUM(issue_s) OVER same_run AS run_issue_s,
        SUM(launch_count * kernel_gap_s) OVER same_run AS run_gap_s,
        SUM(kernel_count * clocked_time(clock_0, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_0_s,
        SUM(kernel_count * clocked_time(clock_1, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_1_s,
        SUM(kernel_count * clocked_time(clock_2, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_2_s,
        SUM(kernel_count * clocked_time(clock_3, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_3_s,
        SUM(kernel_count * clocked_time(clock_4, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_4_s,
        SUM(kernel_count * clocked_time(clock_5, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction))
            OVER same_run AS busy_5_s
    FROM clock_step
    WINDOW same_run AS (PARTITION BY run, hardware)
)

SELECT
    * EXCLUDE (run_clocked_j, run_memory_j, is_energy_known, run_issue_s, run_gap_s, busy_0_s, busy_1_s, busy_2_s, busy_3_s, busy_4_s, busy_5_s),
    -- Energy of the run that scales with the voltage, at the reference clock. [J]
    run_clocked_j,
    -- Energy of the run that does not depend on the voltage. [J]
    run_memory_j,
    -- True if no coefficient is missing.
    is_energy_known,
    -- Time of the run outside of kernels: the run's call, gaps, and host time while the device waits. [s]
    run_call_s + run_gap_s + CASE WHEN dispatch = 'async_queue' THEN 0e0 ELSE run_issue_s END AS beside_s,
    -- Host time of the run, the run's call included. [s]
    run_call_s + run_issue_s AS host_s,
    -- Time that the run's kernels keep the device busy at clock 0. [s]
    busy_0_s,
    -- Square of the ratio of the voltage at clock 0 to the reference voltage.
    voltage_square(clock_0, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_0,
    -- Average power at clock 0; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_0_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_0, voltage_0), voltage_0
    ) AS power_0_w,
    -- Time that the run's kernels keep the device busy at clock 1. [s]
    busy_1_s,
    -- Square of the ratio of the voltage at clock 1 to the reference voltage.
    voltage_square(clock_1, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_1,
    -- Average power at clock 1; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_1_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_1, voltage_1), voltage_1
    ) AS power_1_w,
    -- Time that the run's kernels keep the device busy at clock 2. [s]
    busy_2_s,
    -- Square of the ratio of the voltage at clock 2 to the reference voltage.
    voltage_square(clock_2, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_2,
    -- Average power at clock 2; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_2_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_2, voltage_2), voltage_2
    ) AS power_2_w,
    -- Time that the run's kernels keep the device busy at clock 3. [s]
    busy_3_s,
    -- Square of the ratio of the voltage at clock 3 to the reference voltage.
    voltage_square(clock_3, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_3,
    -- Average power at clock 3; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_3_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_3, voltage_3), voltage_3
    ) AS power_3_w,
    -- Time that the run's kernels keep the device busy at clock 4. [s]
    busy_4_s,
    -- Square of the ratio of the voltage at clock 4 to the reference voltage.
    voltage_square(clock_4, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_4,
    -- Average power at clock 4; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_4_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_4, voltage_4), voltage_4
    ) AS power_4_w,
    -- Time that the run's kernels keep the device busy at clock 5. [s]
    busy_5_s,
    -- Square of the ratio of the voltage at clock 5 to the reference voltage.
    voltage_square(clock_5, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_5,
    -- Average power at clock 5; null when a coefficient is missing. [W]
    run_power(
        run_clocked_j, run_memory_j, GREATEST(busy_5_s + beside_s, host_s),
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_5, voltage_5), voltage_5
    ) AS power_5_w
FROM summed_shapes
