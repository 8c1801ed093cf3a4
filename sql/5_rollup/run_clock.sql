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
            WHEN 1 THEN clock_1 * POWER(
                limit_w / NULLIF(power_1_w, 0e0),
                LN(clock_0 / NULLIF(clock_1, 0e0)) / NULLIF(LN(power_0_w / NULLIF(power_1_w, 0e0)), 0e0)
            )
            WHEN 2 THEN clock_2 * POWER(
                limit_w / NULLIF(power_2_w, 0e0),
                LN(clock_1 / NULLIF(clock_2, 0e0)) / NULLIF(LN(power_1_w / NULLIF(power_2_w, 0e0)), 0e0)
            )
            WHEN 3 THEN clock_3 * POWER(
                limit_w / NULLIF(power_3_w, 0e0),
                LN(clock_2 / NULLIF(clock_3, 0e0)) / NULLIF(LN(power_2_w / NULLIF(power_3_w, 0e0)), 0e0)
            )
            WHEN 4 THEN clock_4 * POWER(
                limit_w / NULLIF(power_4_w, 0e0),
                LN(clock_3 / NULLIF(clock_4, 0e0)) / NULLIF(LN(power_3_w / NULLIF(power_4_w, 0e0)), 0e0)
            )
            WHEN 5 THEN clock_5 * POWER(
                limit_w / NULLIF(power_5_w, 0e0),
                LN(clock_4 / NULLIF(clock_5, 0e0)) / NULLIF(LN(power_4_w / NULLIF(power_5_w, 0e0)), 0e0)
            )
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
            busy_1_s - (1e0 / NULLIF(clock_1, 0e0) - 1e0 / NULLIF(clock_fraction, 0e0)) * (busy_2_s - busy_1_s) / NULLIF(1e0 / NULLIF(clock_2, 0e0) - 1e0 / NULLIF(clock_1, 0e0), 0e0)
        )
        WHEN 2 THEN GREATEST(
            busy_1_s,
            busy_1_s + (1e0 / NULLIF(clock_fraction, 0e0) - 1e0 / NULLIF(clock_1, 0e0)) * (busy_1_s - busy_0_s) / NULLIF(1e0 / NULLIF(clock_1, 0e0) - 1e0 / NULLIF(clock_0, 0e0), 0e0),
            busy_2_s - (1e0 / NULLIF(clock_2, 0e0) - 1e0 / NULLIF(clock_fraction, 0e0)) * (busy_3_s - busy_2_s) / NULLIF(1e0 / NULLIF(clock_3, 0e0) - 1e0 / NULLIF(clock_2, 0e0), 0e0)
        )
        WHEN 3 THEN GREATEST(
            busy_2_s,
            busy_2_s + (1e0 / NULLIF(clock_fraction, 0e0) - 1e0 / NULLIF(clock_2, 0e0)) * (busy_2_s - busy_1_s) / NULLIF(1e0 / NULLIF(clock_2, 0e0) - 1e0 / NULLIF(clock_1, 0e0), 0e0),
            busy_3_s - (1e0 / NULLIF(clock_3, 0e0) - 1e0 / NULLIF(clock_fraction, 0e0)) * (busy_4_s - busy_3_s) / NULLIF(1e0 / NULLIF(clock_4, 0e0) - 1e0 / NULLIF(clock_3, 0e0), 0e0)
        )
        WHEN 4 THEN GREATEST(
            busy_3_s,
            busy_3_s + (1e0 / NULLIF(clock_fraction, 0e0) - 1e0 / NULLIF(clock_3, 0e0)) * (busy_3_s - busy_2_s) / NULLIF(1e0 / NULLIF(clock_3, 0e0) - 1e0 / NULLIF(clock_2, 0e0), 0e0),
            busy_4_s - (1e0 / NULLIF(clock_4, 0e0) - 1e0 / NULLIF(clock_fraction, 0e0)) * (busy_5_s - busy_4_s) / NULLIF(1e0 / NULLIF(clock_5, 0e0) - 1e0 / NULLIF(clock_4, 0e0), 0e0)
        )
        WHEN 5 THEN GREATEST(
            busy_4_s,
            busy_4_s + (1e0 / NULLIF(clock_fraction, 0e0) - 1e0 / NULLIF(clock_4, 0e0)) * (busy_4_s - busy_3_s) / NULLIF(1e0 / NULLIF(clock_4, 0e0) - 1e0 / NULLIF(clock_3, 0e0), 0e0)
        )
        ELSE busy_5_s
    END AS least_busy_s
FROM chosen_clocks
