-- Energy coefficients of every part at the reference voltage of its silicon: stated values at board scope, else values by rule.
-- Coefficients depend on the silicon (process, kind of unit, size of memory) or on the kind of main memory, never on a power limit.
-- Values stated at another scope stay in `energy_profile` and are not used here.
-- Grain: hardware, what, key
CREATE TABLE part_energy AS
WITH vector_rates AS (
    SELECT hardware, precision, MAX(peak_ops_per_s) AS ops_per_s
    FROM part_peak
    WHERE unit = 'vector'
    GROUP BY hardware, precision
),

-- A processor's vector instruction takes the energy of a single-precision one, whatever its element type: fetching, scheduling and
-- registers take most of it (Horowitz 2014).
instructions AS (
    SELECT n.hardware, n.precision, w.ops_per_s / NULLIF(n.ops_per_s, 0e0) AS ratio
    FROM vector_rates AS n
    INNER JOIN vector_rates AS w ON w.hardware = n.hardware AND w.precision = 'fp32'
    INNER JOIN hardware AS h ON h.hardware = n.hardware AND h.family = 'cpu'
),

arithmetic AS (
    SELECT DISTINCT
        k.hardware,
        CONCAT(k.precision, '.', k.unit) AS key,
        GREATEST(c.value, i.ratio) * s.lift * u.value * s.circuit_j AS value,
        CASE WHEN 'assumed' IN (c.confidence, u.confidence, s.confidence) THEN 'assumed' ELSE 'derived' END AS confidence,
        CONCAT(
            FORMAT('{:.3g}', GREATEST(c.value, i.ratio)), ' (', k.precision, ' against fp32) * ', FORMAT('{:g}', s.lift), ' (board against circuit) * ',
            FORMAT('{:g}', u.value), ' (', k.unit, ' unit) * ', s.formula
        ) AS formula
    FROM part_peak AS k
    INNER JOIN part_silicon AS s ON s.hardware = k.hardware
    INNER JOIN part_rule AS c ON c.hardware = k.hardware AND c.quantity = 'circuit_ratio' AND c.row_key = k.precision
    INNER JOIN part_rule AS u ON u.hardware = k.hardware AND u.quantity = 'unit_factor' AND u.row_key = k.unit
    LEFT JOIN instructions AS i ON i.hardware = k.hardware AND i.precision = k.precision AND k.unit = 'vector'
),

elements AS (
    SELECT
        s.hardware,
        'element' AS key,
        r.value * s.circuit_j AS value,
        r.confidence,
        CONCAT(FORMAT('{:g}', r.value), ' (instructions of an element against fp32) * ', s.formula) AS formula
    FROM part_silicon AS s
    INNER JOIN part_rule AS r ON r.hardware = s.hardware AND r.quantity = 'element_ratio'
),

main_memory AS (
    SELECT
        m.hardware,
        m.level AS key,
        COALESCE(t.value, o.value) / 1e12 AS value,
        COALESCE(t.confidence, o.confidence) AS confidence,
        CONCAT(
            FORMAT('{:g}', COALESCE(t.value, o.value)), ' pJ a byte, ', COALESCE(m.technology, 'technology unknown'), ' (',
            COALESCE(t.silicon_rule, o.silicon_rule), ')'
        ) AS formula
    FROM part_memory AS m
    INNER JOIN part_rule AS o ON o.hardware = m.hardware AND o.quantity = 'dram_pj_per_byte' AND o.row_key = '*'
    LEFT JOIN part_rule AS t
        ON t.hardware = m.hardware AND t.quantity = 'dram_pj_per_byte' AND t.row_key = m.technology
    WHERE m.level = 'dram'
),

-- The distance to a shared memory level is a share of the die's side. The energy of accumulators is part of an operation's.
on_chip AS (
    SELECT
        m.hardware,
        m.level AS key,
        m.bank_j_per_byte
        + CASE WHEN m.scope = 'unit' THEN 0e0 ELSE m.lift * s.circuit_j * w.value * d.value * a.side_mm END AS value,
        'derived' AS confidence,
        CONCAT(
            FORMAT('{:.3g}', m.lift), ' (use against array) * (', FORMAT('{:.3g}', m.bank_byte / 1024e0), ' KiB a bank of ',
            FORMAT('{:.3g}', m.area_mm2 / NULLIF(m.bank_count, 0e0)), ' mm2',
            CASE
                WHEN m.scope = 'unit' THEN ''
                ELSE CONCAT(', ', FORMAT('{:.3g}', d.value * a.side_mm), ' mm of wire')
            END, ') * ', s.formula
        ) AS formula
    FROM sram_energy AS m
    INNER JOIN part_silicon AS s ON s.hardware = m.hardware AND m.scope <> 'array'
    INNER JOIN part_leakage AS a ON a.hardware = m.hardware
    INNER JOIN part_rule AS w ON w.hardware = m.hardware AND w.quantity = 'link_wire_ratio_per_mm'
    INNER JOIN part_rule AS d ON d.hardware = m.hardware AND d.quantity = 'link_distance_fraction'
),

static_powers AS (
    SELECT
        a.hardware,
        GREATEST(COALESCE(w.idle_w, 0e0), a.leakage_w + a.clocking_w + a.memory_w) AS value,
        CASE
            WHEN w.idle_w >= a.leakage_w + a.clocking_w + a.memory_w THEN 'idle_w of the default mode'
            ELSE CONCAT(
                FORMAT('{:.3g}', a.leakage_w), ' W of leakage and ', FORMAT('{:.3g}', a.clocking_w), ' W of clocks on ',
                FORMAT('{:.4g}', a.area_mm2), ' mm2, ', FORMAT('{:.3g}', a.memory_w), ' W of memory in standby'
            )
        END AS formula
    FROM part_leakage AS a
    LEFT JOIN hardware_power AS w ON w.hardware = a.hardware AND w.is_default
),

ruled_energies AS (
    SELECT hardware, 'op' AS what, key, value, confidence, formula FROM arithmetic
    UNION ALL
    SELECT hardware, 'op' AS what, key, value, confidence, formula FROM elements
    UNION ALL
    SELECT hardware, 'byte' AS what, key, value, confidence, formula FROM main_memory
    UNION ALL
    SELECT hardware, 'byte' AS what, key, value, confidence, formula FROM on_chip
    UNION ALL
    SELECT hardware, 'static' AS what, 'chip' AS key, value, 'assumed' AS confidence, formula FROM static_powers
),

stated_energies AS (
    SELECT * FROM energy_profile WHERE scope = 'board'
)

SELECT
    r.hardware,
    r.what,
    r.key,
    -- Value of the coefficient at the reference voltage: joules per operation or byte, or watts for `static`.
    r.value,
    -- Scope of all coefficients: the board.
    'board' AS scope,
    -- Source of a stated value; `charz_rule` for a value by rule.
    'charz_rule' AS source_id,
    r.confidence,
    -- Formula of the value with its inputs.
    r.formula,
    -- True if the part states the value.
    FALSE AS is_stated
FROM ruled_energies AS r
LEFT JOIN stated_energies AS p ON p.hardware = r.hardware AND p.what = r.what AND p.key = r.key
WHERE p.hardware IS NULL AND r.value IS NOT NULL
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
FROM stated_energies
