-- The clock that every run sustains: the fullest at which the average power of the run, over its whole time, is at most its
-- limit. Between two steps power is taken for a power law of the clock.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, shape_id
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

chosen_clocks AS (
    SELECT
        *,
        CASE step
            WHEN 0 THEN clock_0
            WHEN 1 THEN clock_at_power(limit_w, clock_1, power_1_w, clock_0, power_0_w)
            WHEN 2 THEN clock_at_power(limit_w, clock_2, power_2_w, clock_1, power_1_w)
            WHEN 3 THEN clock_at_power(limit_w, clock_3, power_3_w, clock_2, power_2_w)
            WHEN 4 THEN clock_at_power(limit_w, clock_4, power_4_w, clock_3, power_3_w)
            WHEN 5 THEN clock_at_power(limit_w, clock_5, power_5_w, clock_4, power_4_w)
            ELSE clock_5
        END AS clock_fraction
    FROM limited_steps
)

SELECT
    * EXCLUDE (
        clock_0, clock_1, clock_2, clock_3, clock_4, clock_5, busy_0_s, busy_1_s, busy_2_s, busy_3_s, busy_4_s, busy_5_s, voltage_0, voltage_1, voltage_2, voltage_3, voltage_4, voltage_5,
        power_0_w, power_1_w, power_2_w, power_3_w, power_4_w, power_5_w, step, clock_fraction
    ),
    -- Clock that the run sustains, against the full clock of the default power mode.
    clock_fraction,
    -- Least time that its kernels keep the device busy at that clock: it is convex in the time of a clock, so that it lies above
    -- the line through two steps on either side. [s]
    CASE step
        WHEN 0 THEN busy_0_s
        WHEN 1 THEN GREATEST(
            busy_0_s,
            time_at_clock(clock_fraction, clock_1, busy_1_s, clock_2, busy_2_s)
        )
        WHEN 2 THEN GREATEST(
            busy_1_s,
            time_at_clock(clock_fraction, clock_1, busy_1_s, clock_0, busy_0_s),
            time_at_clock(clock_fraction, clock_2, busy_2_s, clock_3, busy_3_s)
        )
        WHEN 3 THEN GREATEST(
            busy_2_s,
            time_at_clock(clock_fraction, clock_2, busy_2_s, clock_1, busy_1_s),
            time_at_clock(clock_fraction, clock_3, busy_3_s, clock_4, busy_4_s)
        )
        WHEN 4 THEN GREATEST(
            busy_3_s,
            time_at_clock(clock_fraction, clock_3, busy_3_s, clock_2, busy_2_s),
            time_at_clock(clock_fraction, clock_4, busy_4_s, clock_5, busy_5_s)
        )
        WHEN 5 THEN GREATEST(
            busy_4_s,
            time_at_clock(clock_fraction, clock_4, busy_4_s, clock_3, busy_3_s)
        )
        ELSE busy_5_s
    END AS least_busy_s
FROM chosen_clocks
