-- Numbers of a part that no source stands behind, or whose source is not in the table of sources.
-- Grain: hardware_id, field
CREATE VIEW number_without_source (
    -- Part.
    hardware_id,
    -- Place of the number.
    field,
    -- Source it cites; null when it cites none.
    source_id
) AS
SELECT
    hardware_id,
    field,
    source_id
FROM hardware_value
WHERE source_id IS NULL OR locator IS NULL
