-- Numbers in which two parts differ. Numbers of different scopes have no ratio, for example a memory level per unit and a level
-- shared by all units.
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
    -- First part.
    f.first_hardware,
    -- Second part.
    f.second_hardware,
    f.field,
    -- Unit of both numbers.
    COALESCE(a.unit, b.unit) AS unit,
    -- Value of the first part in `unit`; null if the part has none.
    a.value AS first_value,
    -- Value of the second part in `unit`; null if the part has none.
    b.value AS second_value,
    -- Scopes of the two numbers, e.g. `unit, chip`; null if they are equal.
    CASE WHEN a.scope <> b.scope THEN CONCAT(a.scope, ', ', b.scope) END AS scopes,
    -- Ratio of the second number to the first; null if one is missing or zero, or scopes differ.
    CASE WHEN COALESCE(a.scope = b.scope, TRUE) THEN b.value / NULLIF(a.value, 0e0) END AS ratio
FROM fields AS f
LEFT JOIN scoped_numbers AS a ON a.hardware = f.first_hardware AND a.field = f.field
LEFT JOIN scoped_numbers AS b ON b.hardware = f.second_hardware AND b.field = f.field
WHERE a.value IS DISTINCT FROM b.value
