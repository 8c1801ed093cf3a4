-- Clock that every run sustains: the highest at which the run's average power over its whole time is within its limit. Between two
-- of the six clock steps, power is interpolated as a power law of the clock: first through the two steps, then through the
-- resulting clock and the step on the other side of the limit. The lower step is used if clocks between the two steps are not
-- faster, because high static power would force units to pause longer there.
-- Grain: run, hardware, shape_id
CREATE VIEW run_clock AS
WITH limited_steps AS (
    SELECT
        *,
        CASE
            WHEN NOT is_energy_known OR COALESCE(power_0_w <= limit_w, TRUE) THEN 0
            WHEN power_1_w <= limit_w THEN 1
            WHEN power_2_w <= limit_w THEN 2
            WHEN power_3_w <= limit_w THEN 3
            WHEN power_4_w <= limit_w THEN 4
            WHEN power_5_w <= limit_w THEN 5
            ELSE 6
        END AS step
    FROM step_power
),

-- Four clock steps: the highest within the limit, the next higher, which exceeds the limit, and the step beyond each of the two.
step_pairs AS (
    SELECT
        *,
        CASE step WHEN 0 THEN clock_0 WHEN 1 THEN clock_1 WHEN 2 THEN clock_2 WHEN 3 THEN clock_3 WHEN 4 THEN clock_4 ELSE clock_5 END
            AS slow_clock,
        CASE step WHEN 0 THEN busy_0_s WHEN 1 THEN busy_1_s WHEN 2 THEN busy_2_s WHEN 3 THEN busy_3_s WHEN 4 THEN busy_4_s ELSE busy_5_s END
            AS slow_s,
        CASE step WHEN 1 THEN power_1_w WHEN 2 THEN power_2_w WHEN 3 THEN power_3_w WHEN 4 THEN power_4_w WHEN 5 THEN power_5_w END
            AS slow_w,
        CASE step WHEN 1 THEN clock_0 WHEN 2 THEN clock_1 WHEN 3 THEN clock_2 WHEN 4 THEN clock_3 WHEN 5 THEN clock_4 END
            AS full_clock,
        CASE step WHEN 1 THEN busy_0_s WHEN 2 THEN busy_1_s WHEN 3 THEN busy_2_s WHEN 4 THEN busy_3_s WHEN 5 THEN busy_4_s END
            AS full_s,
        CASE step WHEN 1 THEN power_0_w WHEN 2 THEN power_1_w WHEN 3 THEN power_2_w WHEN 4 THEN power_3_w WHEN 5 THEN power_4_w END
            AS full_w,
        CASE step WHEN 2 THEN clock_0 WHEN 3 THEN clock_1 WHEN 4 THEN clock_2 WHEN 5 THEN clock_3 END AS fuller_clock,
        CASE step WHEN 2 THEN busy_0_s WHEN 3 THEN busy_1_s WHEN 4 THEN busy_2_s WHEN 5 THEN busy_3_s END AS fuller_s,
        CASE step WHEN 1 THEN clock_2 WHEN 2 THEN clock_3 WHEN 3 THEN clock_4 WHEN 4 THEN clock_5 END AS slower_clock,
        CASE step WHEN 1 THEN busy_2_s WHEN 2 THEN busy_3_s WHEN 3 THEN busy_4_s WHEN 4 THEN busy_5_s END AS slower_s
    FROM limited_steps
),

first_clocks AS (
    SELECT *, clock_at_power(limit_w, slow_clock, slow_w, full_clock, full_w) AS first_clock
    FROM step_pairs
),

first_powers AS (
    SELECT
        *,
        voltage_square(first_clock, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS first_square,
        run_power(
            run_clocked_j,
            run_memory_j,
            GREATEST(beside_s + time_between(first_clock, slow_clock, slow_s, slower_clock, slower_s, full_clock, full_s, fuller_clock, fuller_s), host_s),
            static_power(static_w, clocking_w, standby_w, reference_fraction * first_clock, first_square),
            first_square
        ) AS first_w
    FROM first_clocks
),

second_clocks AS (
    SELECT
        *,
        CASE
            WHEN first_w = limit_w THEN first_clock
            WHEN first_w < limit_w THEN clock_at_power(limit_w, first_clock, first_w, full_clock, full_w)
            ELSE clock_at_power(limit_w, slow_clock, slow_w, first_clock, first_w)
        END AS second_clock
    FROM first_powers
),

needed_times AS (
    SELECT
        *,
        voltage_square(second_clock, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS second_square,
        time_under_limit(
            run_clocked_j,
            run_memory_j,
            limit_w,
            static_power(static_w, clocking_w, standby_w, reference_fraction * second_clock, second_square),
            second_square
        ) <= GREATEST(beside_s + slow_s, host_s) AS is_between
    FROM second_clocks
)

SELECT
    * EXCLUDE (
        clock_0, clock_1, clock_2, clock_3, clock_4, clock_5, busy_0_s, busy_1_s, busy_2_s, busy_3_s, busy_4_s, busy_5_s, voltage_0, voltage_1, voltage_2, voltage_3, voltage_4, voltage_5,
        power_0_w, power_1_w, power_2_w, power_3_w, power_4_w, power_5_w, step, slow_clock, slow_s, slow_w, full_clock, full_s, full_w, fuller_clock,
        fuller_s, slower_clock, slower_s, first_clock, first_square, first_w, second_clock, second_square, is_between
    ),
    -- Ratio of the clock that the run sustains to the full clock of the default power mode.
    CASE WHEN is_between THEN second_clock ELSE slow_clock END AS clock_fraction,
    -- Shortest time that the run's kernels keep the device busy at the sustained clock. [s]
    CASE
        WHEN is_between
            THEN time_between(second_clock, slow_clock, slow_s, slower_clock, slower_s, full_clock, full_s, fuller_clock, fuller_s)
        ELSE slow_s
    END AS least_busy_s
FROM needed_times
