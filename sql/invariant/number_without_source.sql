-- Numbers of a part without a source, or whose source is missing from the table of sources.
-- Grain: hardware, field
CREATE VIEW number_without_source AS
SELECT
    hardware,
    -- Place of the number.
    field,
    -- Source it cites; null when it cites none.
    source_id
FROM hardware_value
WHERE source_id IS NULL OR locator IS NULL
