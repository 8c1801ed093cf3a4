-- Every shape on every part with what the power limit of its run acts on: the limit of the power mode, and six clocks from the
-- fullest that the mode allows down to the slowest, in equal ratios. A mode is one of the part's own by its name, or a limit in
-- watts at the default clocks; parts that have no mode of the name asked for, or cannot be set to a limit so low, are left out.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, shape_id
CREATE VIEW clock_step AS
WITH limited_shapes AS (
    SELECT
        s.*,
        r.context,
        r.phase,
        r.host_factor,
        r.power,
        CASE WHEN r.power = 'default' THEN s.tdp_w ELSE COALESCE(m.tdp_w, r.power_w) END AS limit_w,
        COALESCE(m.clock_fraction / NULLIF(s.default_clock_fraction, 0e0), 1e0) AS clock_0
    FROM shape_cost AS s
    INNER JOIN run AS r
        ON r.model = s.model AND r.backend = s.backend AND r.precision = s.precision AND r.batch = s.batch
        AND r.sequence = s.sequence AND r.scenario_id = s.scenario_id
    LEFT JOIN hardware_power AS m ON m.hardware = s.hardware AND m.mode = r.power
    LEFT JOIN power_range AS g ON g.hardware = s.hardware
    WHERE r.power = 'default' OR m.hardware IS NOT NULL OR r.power_w >= COALESCE(g.least_w, 0e0)
)

SELECT
    * EXCLUDE (limit_w, clock_0),
    -- Power that the run may draw on average; null when unknown. [W]
    limit_w,
    -- Fullest clock of the power mode, against the full clock of the default one.
    clock_0,
    -- Host time to issue the kernels of the shape; 0 where one launch starts them all. [s]
    CASE
        WHEN dispatch = 'graph' THEN 0e0
        ELSE (kernel_count * host_kernel_s + view_count * host_view_s) * host_factor
    END AS issue_s,
    -- Host time of the whole run, paid once and part of no kernel. [s]
    call_s * host_factor AS run_call_s,
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
