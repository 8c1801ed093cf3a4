-- Every shape on every part at the clock that the run sustains. If the average power still exceeds the limit at the lowest clock,
-- or slightly at an interpolated clock, units pause until the average meets the limit.
-- Term: power, power, , , , power_s,
-- Grain: run, hardware, shape_id
CREATE VIEW clocked_shape AS
WITH clocked_times AS (
    SELECT
        *,
        voltage_square(clock_fraction, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS voltage_square,
        static_power(static_w, clocking_w, standby_w, reference_fraction * clock_fraction, voltage_square) AS run_static_w,
        clocked_time(clock_fraction, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction) AS clocked_s
    FROM run_clock
),

needed_times AS (
    SELECT
        *,
        time_under_limit(run_clocked_j, run_memory_j, limit_w, run_static_w, voltage_square) AS needed_s
    FROM clocked_times
),

paused_times AS (
    SELECT
        *,
        CASE
            WHEN NOT is_energy_known OR limit_w IS NULL OR static_w IS NULL THEN 1e0
            WHEN needed_s > GREATEST(beside_s + least_busy_s, host_s)
                THEN (needed_s - beside_s) / NULLIF(least_busy_s, 0e0)
            WHEN needed_s IS NOT NULL THEN 1e0
        END AS pause_ratio
    FROM needed_times
)

SELECT
    * EXCLUDE (
        tdp_w, static_w, clocking_w, standby_w, run_static_w, product_energy_j, vector_energy_j, compute_energy_j, cache_energy_j,
        reload_energy_j, fetch_energy_j, stream_energy_j, memory_energy_j, dynamic_energy_j, clocked_energy_j,
        issue_s, run_clocked_j, run_memory_j, is_energy_known, voltage_square, clocked_s, beside_s, host_s, least_busy_s, needed_s, limit_w,
        pause_ratio
    ),
    -- Square of the ratio of the voltage to the voltage at the reference clock: the factor on the energy of arithmetic and of
    -- on-chip memories.
    voltage_square,
    -- Ratio of the time with pauses for the power limit to the time without pauses; null if static power alone exceeds the limit.
    pause_ratio,
    -- Average power that the run may draw; null when unknown. [W]
    limit_w AS tdp_w,
    -- Static power while clocks run, at the clock of the run; null when unknown. [W]
    run_static_w AS static_w,
    -- Energy of products at the voltage of the run; null when a coefficient is missing. [J]
    product_energy_j * voltage_square AS product_energy_j,
    -- Energy of all other arithmetic at the voltage of the run; null when a coefficient is missing. [J]
    vector_energy_j * voltage_square AS vector_energy_j,
    -- Energy of all arithmetic at the voltage of the run; null when a coefficient is missing. [J]
    compute_energy_j * voltage_square AS compute_energy_j,
    -- Energy of the last-level cache at the voltage of the run; null when a coefficient is missing. [J]
    cache_energy_j * voltage_square AS cache_energy_j,
    -- Energy of the memories next to the units at the voltage of the run; null when a coefficient is missing. [J]
    reload_energy_j * voltage_square AS reload_energy_j,
    -- Energy of repeated fetches from the shared memory at the voltage of the run; null when a coefficient is missing. [J]
    fetch_energy_j * voltage_square AS fetch_energy_j,
    -- Energy of the first level at the voltage of the run; null when a coefficient is missing. [J]
    stream_energy_j * voltage_square AS stream_energy_j,
    -- Energy of all traffic at the voltage of the run; null when a coefficient is missing. [J]
    memory_energy_j - (cache_energy_j + reload_energy_j + fetch_energy_j + stream_energy_j) * (1e0 - voltage_square) AS memory_energy_j,
    -- Energy of arithmetic and traffic at the voltage of the run; null when a coefficient is missing. [J]
    dynamic_energy_j - clocked_energy_j * (1e0 - voltage_square) AS dynamic_energy_j,
    -- Time that the kernel keeps the device busy at the clock of the run, pauses included. [s]
    clocked_s * pause_ratio AS busy_s,
    -- Time that the power limit or the power mode adds. [s]
    busy_s - unlimited_s AS power_s,
    -- True if the power limit or the power mode sets the pace: the kernel takes longer, and either the units' clock bounds its time
    -- or pauses take most of its time.
    busy_s > unlimited_s * (1e0 + 1e-9)
    AND (GREATEST(compute_s, clocked_memory_s, feed_s) >= clock_fraction * memory_s OR power_s > 0.5e0 * busy_s) AS is_power_bound,
    -- Busy time plus the gap between kernels. [s]
    busy_s + kernel_gap_s AS device_s
FROM paused_times
