-- Numbers of a part without a source, or whose source is missing from the table of sources.
-- Grain: hardware, field
CREATE VIEW number_without_source AS
SELECT
    hardware,
    -- Field name of the number.
    field,
    -- Source that the number cites; null without one.
    source_id
FROM hardware_value
WHERE source_id IS NULL OR locator IS NULL
