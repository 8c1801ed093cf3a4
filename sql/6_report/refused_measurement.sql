-- Measured rows of a network whose number of parameters is not that of the network ingested under its name: they are not scored.
-- Grain: measurement_id, model
CREATE VIEW refused_measurement AS
SELECT
    x.measurement_id,
    m.model,
    -- Parameters of the network that was measured.
    x.parameter_count AS measured_parameter_count,
    m.parameter_count
FROM measurement AS x
INNER JOIN model AS m ON m.source = x.model_source AND (x.resolution IS NULL OR x.resolution = m.resolution)
LEFT JOIN measured_model AS i ON i.measurement_id = x.measurement_id
WHERE x.parameter_count IS NOT NULL AND i.measurement_id IS NULL;
