-- Every number of every part as one long list, each with where it comes from: the live value beside what the part's row and
-- the catalog file state, so that an edit shows, with all that follows from it, and any number is traced in one query.
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
    -- A stated bandwidth on the chip does not follow main memory (`part_memory`).
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
    -- True when the stated value was changed since, or added without the catalog.
    e.field IS NOT NULL AS is_edited,
    -- True when it follows from a number that was.
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
