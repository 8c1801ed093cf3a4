-- The ingested model that a measured row is of: named by its source, with a resolution where that is not the source's own,
-- or by the model's name.
-- Grain: measurement_id
CREATE VIEW measured_model AS
WITH named_models AS (
    SELECT model, resolution, source AS model_key, TRUE AS is_source FROM model
    UNION ALL
    SELECT model, resolution, model AS model_key, FALSE AS is_source FROM model WHERE model <> source
)

SELECT
    x.measurement_id,
    -- Ingested model, the first by name of several.
    MIN(m.model) AS model
FROM measurement AS x
INNER JOIN named_models AS m
    ON m.model_key = x.model_source AND (NOT m.is_source OR x.resolution IS NULL OR x.resolution = m.resolution)
GROUP BY x.measurement_id
