-- Numbers in which two parts differ, like with like: a level that each unit owns on the one part and all share on the other, or
-- energies of other scopes, stand beside each other without a ratio.
-- Grain: first_hardware, second_hardware, field
CREATE VIEW part_difference AS
WITH scopes AS (
    SELECT hardware, CONCAT('memory.', level, '.') AS place, scope FROM part_memory
    UNION ALL
    SELECT DISTINCT hardware, CONCAT('energy.', what, '.') AS place, scope FROM part_energy
),

scoped_numbers AS (
    SELECT n.hardware, n.field, n.value, n.unit, s.scope
    FROM traced_number AS n
    LEFT JOIN scopes AS s ON s.hardware = n.hardware AND STARTS_WITH(n.field, s.place)
),

fields AS (
    SELECT n.hardware AS first_hardware, h.hardware AS second_hardware, n.field
    FROM traced_number AS n
    CROSS JOIN hardware AS h
    UNION
    SELECT h.hardware AS first_hardware, n.hardware AS second_hardware, n.field
    FROM traced_number AS n
    CROSS JOIN hardware AS h
)

SELECT
    -- Part.
    f.first_hardware,
    -- Part it is compared with.
    f.second_hardware,
    f.field,
    -- Unit of both.
    COALESCE(a.unit, b.unit) AS unit,
    -- Number of the one; null where it has none. In the unit of the row.
    a.value AS first_value,
    -- Number of the other; null where it has none. In the unit of the row.
    b.value AS second_value,
    -- Scopes where they are not the same, e.g. `unit, chip`; else null.
    CASE WHEN a.scope <> b.scope THEN CONCAT(a.scope, ', ', b.scope) END AS scopes,
    -- The other over the one; null where one is missing, zero, or of another scope.
    CASE WHEN COALESCE(a.scope = b.scope, TRUE) THEN b.value / NULLIF(a.value, 0e0) END AS ratio
FROM fields AS f
LEFT JOIN scoped_numbers AS a ON a.hardware = f.first_hardware AND a.field = f.field
LEFT JOIN scoped_numbers AS b ON b.hardware = f.second_hardware AND b.field = f.field
WHERE a.value IS DISTINCT FROM b.value
