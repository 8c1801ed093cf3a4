-- Sources of numbers and measurements. Key: source_id.
-- Grain: source_id
CREATE VIEW sources AS
SELECT
    source_id,
    kind,
    locator,
    licence,
    what
FROM source
