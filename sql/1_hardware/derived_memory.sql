-- Numbers of every part's memory that the derivation rules give, even if the part states the number: bandwidths of on-chip levels,
-- main-memory bandwidth of one core, and the levels of a compute capability.
-- Grain: hardware, quantity, level
CREATE VIEW derived_memory AS
WITH levels AS (
    SELECT hardware, level, scope FROM hardware_memory
    UNION ALL
    SELECT h.hardware, r.row_key AS level, r.scope
    FROM hardware AS h
    INNER JOIN derivation_rule AS r ON r.quantity = 'memory.capacity_byte' AND r.family = h.family
    INNER JOIN part_basis AS b ON b.hardware = h.hardware AND b.basis = r.basis
    LEFT JOIN hardware_memory AS m ON m.hardware = h.hardware AND m.level = r.row_key
    WHERE m.level IS NULL
),

fitting_rules AS (
    SELECT
        l.hardware,
        l.level,
        l.scope,
        r.quantity,
        {'derivation_rule': r.derivation_rule, 'basis': r.basis, 'value': r.value * b.value} AS derived,
        ROW(
            CASE WHEN r.architecture = '*' THEN 0 ELSE LENGTH(r.architecture) END, r.row_key <> '*', r.scope <> '*'
        ) AS closeness
    FROM levels AS l
    INNER JOIN hardware AS h ON h.hardware = l.hardware
    INNER JOIN derivation_rule AS r
        ON r.family IN ('*', h.family) AND r.quantity LIKE 'memory.%'
        AND (r.architecture = '*' OR STARTS_WITH(h.architecture, r.architecture))
        AND (r.row_key = l.level OR (r.row_key = '*' AND l.level <> 'dram'))
        AND r.scope IN ('*', l.scope)
    INNER JOIN part_basis AS b ON b.hardware = h.hardware AND b.basis = r.basis
),

closest_rules AS (
    SELECT hardware, level, scope, quantity, MAX_BY(derived, closeness) AS derived
    FROM fitting_rules
    GROUP BY hardware, level, scope, quantity
)

SELECT
    hardware,
    quantity,
    level,
    scope,
    -- Rule that gives the number.
    derived.derivation_rule,
    -- Quantity of the part that the rule's coefficient is multiplied by (`part_basis`).
    derived.basis,
    -- Value by the rule, in the unit of the quantity.
    derived.value
FROM closest_rules
