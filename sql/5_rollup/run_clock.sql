-- The clock that every run sustains. Dynamic power goes with the clock and the square of the voltage, the voltage falls with the
-- clock down to a floor, static power goes with the square of the voltage, and main memory keeps its clock. The clock is the
-- fullest at which the average power of the run, over its whole time, is at most its limit: between two steps power is taken
-- for a power law of the clock.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, shape_id
CREATE VIEW run_clock AS
WITH summed_shapes AS (
    SELECT
        *,
        SUM(kernel_count * clocked_energy_j) OVER same_run AS run_clocked_j,
        SUM(kernel_count * (dynamic_energy_j - clocked_energy_j)) OVER same_run AS run_memory_j,
        COUNT(*) OVER same_run = COUNT(dynamic_energy_j) OVER same_run AS is_energy_known,
        SUM(issue_s) OVER same_run AS run_issue_s,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_0, 0e0), memory_s, clocked_memory_s / NULLIF(clock_0, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_0, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_0, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_0,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_1, 0e0), memory_s, clocked_memory_s / NULLIF(clock_1, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_1, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_1, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_1,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_2, 0e0), memory_s, clocked_memory_s / NULLIF(clock_2, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_2, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_2, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_2,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_3, 0e0), memory_s, clocked_memory_s / NULLIF(clock_3, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_3, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_3, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_3,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_4, 0e0), memory_s, clocked_memory_s / NULLIF(clock_4, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_4, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_4, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_4,
        SUM(
            kernel_count * (
                GREATEST(compute_s / NULLIF(clock_5, 0e0), memory_s, clocked_memory_s / NULLIF(clock_5, 0e0))
                + (1e0 - overlap_fraction)
                * LEAST(compute_s / NULLIF(clock_5, 0e0), GREATEST(memory_s, clocked_memory_s / NULLIF(clock_5, 0e0))) + exposed_s + kernel_gap_s
            )
        ) OVER same_run AS device_5
    FROM clock_step
    WINDOW same_run AS (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
),

powered_steps AS (
    SELECT
        *,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_0)), 2) AS voltage_0,
        (run_clocked_j * voltage_0 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_0, run_issue_s) ELSE device_0 + run_issue_s END, 0e0
        ) + static_w * voltage_0 AS power_0,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_1)), 2) AS voltage_1,
        (run_clocked_j * voltage_1 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_1, run_issue_s) ELSE device_1 + run_issue_s END, 0e0
        ) + static_w * voltage_1 AS power_1,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_2)), 2) AS voltage_2,
        (run_clocked_j * voltage_2 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_2, run_issue_s) ELSE device_2 + run_issue_s END, 0e0
        ) + static_w * voltage_2 AS power_2,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_3)), 2) AS voltage_3,
        (run_clocked_j * voltage_3 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_3, run_issue_s) ELSE device_3 + run_issue_s END, 0e0
        ) + static_w * voltage_3 AS power_3,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_4)), 2) AS voltage_4,
        (run_clocked_j * voltage_4 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_4, run_issue_s) ELSE device_4 + run_issue_s END, 0e0
        ) + static_w * voltage_4 AS power_4,
        POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_5)), 2) AS voltage_5,
        (run_clocked_j * voltage_5 + run_memory_j) / NULLIF(
            run_call_s
            + CASE WHEN dispatch = 'async_queue' THEN GREATEST(device_5, run_issue_s) ELSE device_5 + run_issue_s END, 0e0
        ) + static_w * voltage_5 AS power_5
    FROM summed_shapes
)

SELECT
    * EXCLUDE (
        clock_0, clock_1, clock_2, clock_3, clock_4, clock_5, device_0, device_1, device_2, device_3, device_4, device_5, voltage_0, voltage_1, voltage_2, voltage_3, voltage_4, voltage_5,
        power_0, power_1, power_2, power_3, power_4, power_5,
        run_clocked_j, run_memory_j, is_energy_known, run_issue_s
    ),
    -- Energy of the run that falls with the voltage, at the reference clock. [J]
    run_clocked_j,
    -- Energy of the run that does not. [J]
    run_memory_j,
    -- True where no coefficient is missing.
    is_energy_known,
    -- Host time to issue everything. [s]
    run_issue_s,
    -- Clock that the run sustains, against the full clock of the default power mode.
    CASE
        WHEN NOT is_energy_known OR COALESCE(power_0 <= limit_w, TRUE) THEN clock_0
        WHEN power_1 <= limit_w
            THEN clock_1 * POWER(
                limit_w / NULLIF(power_1, 0e0),
                LN(clock_0 / NULLIF(clock_1, 0e0)) / NULLIF(LN(power_0 / NULLIF(power_1, 0e0)), 0e0)
            )
        WHEN power_2 <= limit_w
            THEN clock_2 * POWER(
                limit_w / NULLIF(power_2, 0e0),
                LN(clock_1 / NULLIF(clock_2, 0e0)) / NULLIF(LN(power_1 / NULLIF(power_2, 0e0)), 0e0)
            )
        WHEN power_3 <= limit_w
            THEN clock_3 * POWER(
                limit_w / NULLIF(power_3, 0e0),
                LN(clock_2 / NULLIF(clock_3, 0e0)) / NULLIF(LN(power_2 / NULLIF(power_3, 0e0)), 0e0)
            )
        WHEN power_4 <= limit_w
            THEN clock_4 * POWER(
                limit_w / NULLIF(power_4, 0e0),
                LN(clock_3 / NULLIF(clock_4, 0e0)) / NULLIF(LN(power_3 / NULLIF(power_4, 0e0)), 0e0)
            )
        WHEN power_5 <= limit_w
            THEN clock_5 * POWER(
                limit_w / NULLIF(power_5, 0e0),
                LN(clock_4 / NULLIF(clock_5, 0e0)) / NULLIF(LN(power_4 / NULLIF(power_5, 0e0)), 0e0)
            )
        ELSE clock_5
    END AS clock_fraction
FROM powered_steps
