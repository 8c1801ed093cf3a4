-- Energy coefficients of every part at its reference clock: those it states, and from rules those it leaves open. An energy
-- belongs to the silicon (process, voltage, kind of unit) or to the kind of memory; no power limit enters one.
-- Grain: hardware, what, key
CREATE TABLE part_energy AS
WITH arithmetic AS (
    SELECT DISTINCT
        k.hardware,
        CONCAT(k.precision, '.', k.unit) AS key,
        c.value * s.lift * u.value * s.circuit_j AS value,
        CASE WHEN 'assumed' IN (c.confidence, u.confidence, s.confidence) THEN 'assumed' ELSE 'derived' END AS confidence,
        CONCAT(
            FORMAT('{:g}', c.value), ' (', k.precision, ' against fp32) * ', FORMAT('{:g}', s.lift), ' (board against circuit) * ',
            FORMAT('{:g}', u.value), ' (', k.unit, ' unit) * ', s.formula
        ) AS formula
    FROM part_peak AS k
    INNER JOIN part_silicon AS s ON s.hardware = k.hardware
    INNER JOIN part_rule AS c ON c.hardware = k.hardware AND c.quantity = 'circuit_ratio' AND c.row_key = k.precision
    INNER JOIN part_rule AS u ON u.hardware = k.hardware AND u.quantity = 'unit_factor' AND u.row_key = k.unit
),

main_memory AS (
    SELECT
        m.hardware,
        m.level AS key,
        COALESCE(t.value, o.value) / 1e12 AS value,
        COALESCE(t.confidence, o.confidence) AS confidence,
        CONCAT(
            FORMAT('{:g}', COALESCE(t.value, o.value)), ' pJ a byte, ', COALESCE(m.technology, 'technology unknown'), ' (',
            COALESCE(t.energy_rule, o.energy_rule), ')'
        ) AS formula
    FROM part_memory AS m
    INNER JOIN part_rule AS o ON o.hardware = m.hardware AND o.quantity = 'dram_pj_per_byte' AND o.row_key = '*'
    LEFT JOIN part_rule AS t
        ON t.hardware = m.hardware AND t.quantity = 'dram_pj_per_byte' AND t.row_key = m.technology
    WHERE m.level = 'dram'
),

on_chip AS (
    SELECT
        m.hardware,
        m.level AS key,
        r.value * s.circuit_j AS value,
        r.confidence,
        CONCAT(FORMAT('{:g}', r.value), ' a byte (', r.energy_rule, ') * ', s.formula) AS formula
    FROM part_memory AS m
    INNER JOIN part_silicon AS s ON s.hardware = m.hardware
    INNER JOIN part_rule AS r ON r.hardware = m.hardware AND r.quantity = 'byte_ratio' AND r.row_key = m.level
    WHERE m.level <> 'dram'
),

-- The fastest arithmetic and half-busy main memory, where no power limit says what static power is a share of.
busiest_units AS (
    SELECT a.hardware, MAX(k.peak_ops_per_s * a.value) AS arithmetic_w
    FROM arithmetic AS a
    INNER JOIN part_peak AS k ON k.hardware = a.hardware AND a.key = CONCAT(k.precision, '.', k.unit)
    GROUP BY a.hardware
),

dies AS (
    SELECT
        h.hardware,
        w.tdp_w,
        w.idle_w,
        s.static_fraction,
        s.unit_static_w,
        c.unit_count,
        b.arithmetic_w + s.busy_memory_fraction * COALESCE(l.dram_byte_per_s * m.value, 0e0) AS work_w
    FROM hardware AS h
    INNER JOIN part_silicon AS s ON s.hardware = h.hardware
    LEFT JOIN hardware_power AS w ON w.hardware = h.hardware AND w.is_default
    LEFT JOIN part_unit AS c ON c.hardware = h.hardware
    LEFT JOIN busiest_units AS b ON b.hardware = h.hardware
    LEFT JOIN part_level AS l ON l.hardware = h.hardware
    LEFT JOIN main_memory AS m ON m.hardware = h.hardware
),

static_powers AS (
    SELECT
        hardware,
        COALESCE(
            idle_w,
            unit_static_w * unit_count,
            static_fraction * tdp_w,
            static_fraction / NULLIF(1e0 - static_fraction, 0e0) * work_w
        ) AS value,
        CASE
            WHEN idle_w IS NOT NULL THEN 'idle_w of the default mode'
            WHEN unit_static_w IS NOT NULL
                THEN CONCAT(FORMAT('{:g}', unit_static_w), ' W * ', FORMAT('{:g}', unit_count), ' units of the die')
            WHEN tdp_w IS NOT NULL
                THEN CONCAT(FORMAT('{:g}', static_fraction), ' * ', FORMAT('{:g}', tdp_w), ' W (no idle power published)')
            ELSE CONCAT(
                FORMAT('{:g}', static_fraction), ' of itself and ', FORMAT('{:.4g}', work_w),
                ' W of saturated arithmetic and busy memory, power limit unknown'
            )
        END AS formula
    FROM dies
),

ruled_energies AS (
    SELECT hardware, 'op' AS what, key, value, confidence, formula FROM arithmetic
    UNION ALL
    SELECT hardware, 'byte' AS what, key, value, confidence, formula FROM main_memory
    UNION ALL
    SELECT hardware, 'byte' AS what, key, value, confidence, formula FROM on_chip
    UNION ALL
    SELECT hardware, 'static' AS what, 'chip' AS key, value, 'assumed' AS confidence, formula FROM static_powers
),

-- Stated energies of a circuit or a chip are not mixed with those of a board.
scopes AS (
    SELECT
        h.hardware,
        CASE WHEN h.family = 'kpu' THEN 'chip' ELSE 'board' END AS scope,
        MIN(p.scope) AS stated_scope
    FROM hardware AS h
    LEFT JOIN energy_profile AS p ON p.hardware = h.hardware
    GROUP BY h.hardware, h.family
)

SELECT
    r.hardware,
    r.what,
    r.key,
    -- Joule an operation or a byte, watt for `static`; at the reference clock.
    r.value,
    s.scope,
    -- Source of a stated value; `charz_rule` of one that follows from rules.
    'charz_rule' AS source_id,
    r.confidence,
    -- How it follows from which numbers.
    r.formula,
    -- True when the part states it.
    FALSE AS is_stated
FROM ruled_energies AS r
INNER JOIN scopes AS s ON s.hardware = r.hardware
LEFT JOIN energy_profile AS p ON p.hardware = r.hardware AND p.what = r.what AND p.key = r.key
WHERE p.hardware IS NULL AND r.value IS NOT NULL AND COALESCE(s.stated_scope, s.scope) = s.scope
UNION ALL
SELECT
    hardware,
    what,
    key,
    value,
    scope,
    source_id,
    confidence,
    formula,
    TRUE AS is_stated
FROM energy_profile
