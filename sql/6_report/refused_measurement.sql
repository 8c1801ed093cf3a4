-- Measured rows of a network whose number of parameters is not that of the network ingested under its name: they are not scored.
-- Grain: measurement_id
CREATE VIEW refused_measurement AS
SELECT
    i.measurement_id,
    i.model,
    -- Parameters of the network that was measured.
    x.parameter_count AS measured_parameter_count,
    m.parameter_count
FROM measured_model AS i
INNER JOIN measurement AS x ON x.measurement_id = i.measurement_id
INNER JOIN model AS m ON m.model = i.model
WHERE i.match = 'refused';
