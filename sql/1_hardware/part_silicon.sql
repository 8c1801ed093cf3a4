-- What the silicon of every part gives its energies and its clock: process, voltage, and how the one follows the other.
-- Grain: hardware
CREATE VIEW part_silicon AS
WITH part_rules AS (
    SELECT
        hardware,
        MAX(CASE WHEN quantity = 'usual_process_nm' THEN value END) AS usual_process_nm,
        MAX(CASE WHEN quantity = 'lift' THEN value END) AS lift,
        MAX(CASE WHEN quantity = 'lift' THEN confidence END) AS confidence,
        MAX(CASE WHEN quantity = 'voltage_v' THEN value END) AS voltage_v,
        MAX(CASE WHEN quantity = 'reference_voltage_v' THEN value END) AS reference_voltage_v,
        MAX(CASE WHEN quantity = 'voltage_slope' THEN value END) AS voltage_slope,
        MAX(CASE WHEN quantity = 'voltage_floor' THEN value END) AS voltage_floor,
        MAX(CASE WHEN quantity = 'clock_floor' THEN value END) AS clock_floor,
        MAX(CASE WHEN quantity = 'reference_clock_hz' THEN value END) AS reference_clock_hz,
        MAX(CASE WHEN quantity = 'static_fraction' THEN value END) AS static_fraction,
        MAX(CASE WHEN quantity = 'unit_static_w' THEN value END) AS unit_static_w,
        MAX(CASE WHEN quantity = 'busy_memory_fraction' THEN value END) AS busy_memory_fraction
    FROM part_rule
    WHERE row_key = '*'
    GROUP BY hardware
),

processes AS (
    SELECT
        h.hardware,
        COALESCE(h.process_nm, r.usual_process_nm) AS process_nm,
        r.* EXCLUDE (hardware)
    FROM hardware AS h
    INNER JOIN part_rules AS r ON r.hardware = h.hardware
),

-- The nearest process that is known, of two the finer.
nearest_processes AS (
    SELECT
        p.hardware,
        MIN_BY(r.value, ROW(ABS(CAST(r.row_key AS DOUBLE) - p.process_nm), CAST(r.row_key AS DOUBLE))) AS process_pj
    FROM processes AS p
    INNER JOIN part_rule AS r ON r.hardware = p.hardware AND r.quantity = 'process_pj'
    GROUP BY p.hardware
)

SELECT
    p.hardware,
    -- Process, as its maker names it; the usual one where unknown. [nm]
    p.process_nm,
    -- Energy of an fp32 operation in a circuit of the process, at the voltage of the die. [J]
    n.process_pj / 1e12 * POWER(p.voltage_v / NULLIF(p.reference_voltage_v, 0e0), 2) AS circuit_j,
    -- Energy of an operation on the board against the circuit's.
    p.lift,
    -- How far the lift can be trusted.
    p.confidence,
    -- Voltage at the reference clock.
    p.voltage_v,
    -- Share of the voltage that goes with the clock.
    p.voltage_slope,
    -- Least voltage against that at the reference clock.
    p.voltage_floor,
    -- Slowest clock against the full one.
    p.clock_floor,
    -- Clock that energies and static power hold at; null where it is the part's own boost clock. [Hz]
    p.reference_clock_hz,
    -- Share of the power limit that flows whenever clocks run.
    p.static_fraction,
    -- Static power of a unit of the die; null where nothing is known of the die. [W]
    p.unit_static_w,
    -- Main memory traffic beside saturated arithmetic, as a share, where static power must follow from the work.
    p.busy_memory_fraction,
    -- Process and voltage in words.
    CONCAT(
        FORMAT('{:g}', n.process_pj), ' pJ (', FORMAT('{:g}', p.process_nm), ' nm) * (', FORMAT('{:g}', p.voltage_v), ' / ',
        FORMAT('{:g}', p.reference_voltage_v), ' V)^2'
    ) AS formula
FROM processes AS p
INNER JOIN nearest_processes AS n ON n.hardware = p.hardware
