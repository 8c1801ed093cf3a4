-- Properties of every part's silicon from which areas, energies and clocks are computed: process, density, leakage, and the
-- relation of voltage to clock. A process without a row uses the row of the nearest process; in a tie, of the finer process.
-- Grain: hardware
CREATE VIEW part_silicon AS
WITH part_rules AS (
    SELECT
        hardware,
        MAX(CASE WHEN quantity = 'usual_process_nm' THEN value END) AS usual_process_nm,
        MAX(CASE WHEN quantity = 'lift' THEN value END) AS lift,
        MAX(CASE WHEN quantity = 'lift' THEN confidence END) AS confidence,
        MAX(CASE WHEN quantity = 'reference_voltage_v' THEN value END) AS reference_voltage_v,
        MAX(CASE WHEN quantity = 'voltage_slope' THEN value END) AS voltage_slope,
        MAX(CASE WHEN quantity = 'voltage_floor' THEN value END) AS voltage_floor,
        MAX(CASE WHEN quantity = 'voltage_ceiling' THEN value END) AS voltage_ceiling,
        MAX(CASE WHEN quantity = 'clock_floor' THEN value END) AS clock_floor,
        MAX(CASE WHEN quantity = 'layout_factor' THEN value END) AS layout_factor,
        MAX(CASE WHEN quantity = 'clocking_w_per_mm2_ghz' THEN value END) AS clocking_w_per_mm2_ghz
    FROM part_rule
    WHERE row_key = '*'
    GROUP BY hardware
),

stated_densities AS (
    SELECT hardware, MAX_BY(value, CAST(row_key AS DOUBLE)) AS stated_mtr_per_mm2
    FROM part_rule
    WHERE quantity = 'logic_mtr_per_mm2'
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

nearest_processes AS (
    SELECT
        p.hardware,
        r.quantity,
        MIN_BY(r.value, ROW(ABS(CAST(r.row_key AS DOUBLE) - p.process_nm), CAST(r.row_key AS DOUBLE))) AS value
    FROM processes AS p
    INNER JOIN part_rule AS r
        ON r.hardware = p.hardware
        AND r.quantity IN ('process_pj', 'logic_mtr_per_mm2', 'sram_um2', 'leakage_w_per_mm2', 'clock_load_ratio', 'reference_clock_hz')
    GROUP BY p.hardware, r.quantity
),

process_numbers AS (
    SELECT
        hardware,
        MAX(CASE WHEN quantity = 'process_pj' THEN value END) AS process_pj,
        MAX(CASE WHEN quantity = 'logic_mtr_per_mm2' THEN value END) AS logic_mtr_per_mm2,
        MAX(CASE WHEN quantity = 'sram_um2' THEN value END) AS sram_um2,
        MAX(CASE WHEN quantity = 'leakage_w_per_mm2' THEN value END) AS leakage_w_per_mm2,
        MAX(CASE WHEN quantity = 'clock_load_ratio' THEN value END) AS clock_load_ratio,
        MAX(CASE WHEN quantity = 'reference_clock_hz' THEN value END) AS reference_clock_hz
    FROM nearest_processes
    GROUP BY hardware
)

SELECT
    p.hardware,
    -- Process node as its manufacturer names it; the usual node when unknown. [nm]
    p.process_nm,
    -- Energy of an fp32 operation in a circuit of the process, at the reference voltage. [J]
    n.process_pj / 1e12 AS circuit_j,
    -- Ratio of an operation's energy at board scope to its energy in the bare circuit.
    p.lift,
    -- Confidence in `lift`.
    p.confidence,
    -- Ratio of the area of logic in this process to its area in the process of the rules.
    d.stated_mtr_per_mm2 / NULLIF(n.logic_mtr_per_mm2, 0e0) AS logic_ratio,
    -- Area of the bit cells of a byte. [mm2]
    8e0 * n.sram_um2 / 1e6 AS byte_cell_mm2,
    -- Ratio of the area of the die to the sum of its pieces.
    p.layout_factor,
    -- Leakage of logic at the reference voltage, in watts per square millimetre.
    n.leakage_w_per_mm2 AS leakage_density,
    -- Power of the clock in logic at the reference clock and voltage, in watts per square millimetre.
    p.clocking_w_per_mm2_ghz * n.clock_load_ratio * n.reference_clock_hz / 1e9 AS clocking_density,
    -- Voltage at which energies, leakage and clocks are stated. [V]
    p.reference_voltage_v,
    -- Relative change of the voltage per relative change of the clock.
    p.voltage_slope,
    -- Ratio of the lowest voltage to the reference voltage.
    p.voltage_floor,
    -- Ratio of the highest voltage to the reference voltage.
    p.voltage_ceiling,
    -- Ratio of the lowest clock to the full clock.
    p.clock_floor,
    -- Clock that designs of the family reach in the process at the reference voltage. [Hz]
    n.reference_clock_hz,
    -- Process and energy in words.
    CONCAT(FORMAT('{:g}', n.process_pj), ' pJ (', FORMAT('{:g}', p.process_nm), ' nm)') AS formula
FROM processes AS p
INNER JOIN process_numbers AS n ON n.hardware = p.hardware
INNER JOIN stated_densities AS d ON d.hardware = p.hardware
