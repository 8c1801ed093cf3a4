-- Measured rows that are not scored, because their network has another number of parameters than the network ingested under its
-- name.
-- Grain: measurement_id
CREATE VIEW refused_measurement AS
SELECT
    i.measurement_id,
    i.model,
    -- Parameters of the measured network.
    x.parameter_count AS measured_parameter_count,
    m.parameter_count
FROM measured_model AS i
INNER JOIN measurement AS x ON x.measurement_id = i.measurement_id
INNER JOIN model AS m ON m.model = i.model
WHERE i.match = 'refused';
