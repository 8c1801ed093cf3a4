-- Idle power of every part by the rules of its process, compared with stated or measured values.
-- Grain: hardware, state
CREATE VIEW rest_check AS
WITH ruled_powers AS (
    SELECT
        c.hardware,
        c.state,
        c.stated_w,
        CASE
            WHEN c.state = 'rest' THEN a.leakage_w * POWER(p.voltage_floor, 2) + a.memory_w
            WHEN c.state = 'waiting'
                THEN static_power(
                    a.leakage_w + a.clocking_w + a.memory_w, a.clocking_w, a.memory_w, p.reference_fraction,
                    voltage_square(1e0, p.reference_fraction, p.voltage_slope, p.voltage_floor, p.voltage_ceiling)
                )
            ELSE
                static_power(
                    a.leakage_w + a.clocking_w, a.clocking_w, 0e0, p.reference_fraction,
                    voltage_square(1e0, p.reference_fraction, p.voltage_slope, p.voltage_floor, p.voltage_ceiling)
                ) - a.leakage_w * POWER(p.voltage_floor, 2)
        END AS ruled_w,
        c.source_id,
        c.confidence
    FROM rest_power AS c
    INNER JOIN part_leakage AS a ON a.hardware = c.hardware
    INNER JOIN part AS p ON p.hardware = c.hardware
)

SELECT
    hardware,
    state,
    stated_w,
    -- Power in the idle state by the rules. [W]
    ruled_w,
    -- Ratio of the power by the rules to the stated one.
    ruled_w / NULLIF(stated_w, 0e0) AS power_ratio,
    source_id,
    confidence
FROM ruled_powers
