-- List of every number of every part: the value in use, the value in the part's row, the value in the catalog file, and the source.
-- One query shows all edits and all numbers that follow from edited numbers.
-- Grain: hardware, field
CREATE VIEW hardware_value AS
WITH edited_numbers AS (
    SELECT hardware, field
    FROM traced_number
    WHERE catalog_value IS DISTINCT FROM stated_value
),

following_numbers AS (
    SELECT DISTINCT t.hardware, t.field
    FROM traced_number AS t
    INNER JOIN derivation_input AS i ON i.basis = t.basis
    INNER JOIN edited_numbers AS e ON e.hardware = t.hardware AND e.field LIKE i.field AND e.field <> t.field
    -- A stated bandwidth of on-chip memory does not follow from main memory (`part_memory`).
    WHERE t.basis <> 'dram' OR t.stated_value IS NULL
)

SELECT
    n.hardware,
    n.kind,
    n.field,
    n.value,
    n.stated_value,
    n.catalog_value,
    n.standing,
    -- True if the stated value was changed or does not come from the catalog.
    e.field IS NOT NULL AS is_edited,
    -- True if the number follows from an edited number.
    f.field IS NOT NULL AS follows_edit,
    n.unit,
    n.source_id,
    n.confidence,
    n.is_guess,
    n.derivation_rule,
    n.formula,
    n.note,
    -- Address, paper or file of the source.
    s.locator
FROM traced_number AS n
LEFT JOIN edited_numbers AS e ON e.hardware = n.hardware AND e.field = n.field
LEFT JOIN following_numbers AS f ON f.hardware = n.hardware AND f.field = n.field
LEFT JOIN source AS s ON s.source_id = n.source_id
