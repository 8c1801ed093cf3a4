-- Measurements that are not scored, because the measured network and the ingested model of that name differ in their number of
-- parameters.
-- Grain: measurement_id
CREATE VIEW refused_measurement AS
SELECT
    i.measurement_id,
    i.model,
    -- Number of parameters of the measured network.
    x.parameter_count AS measured_parameter_count,
    m.parameter_count
FROM measured_model AS i
INNER JOIN measurement AS x ON x.measurement_id = i.measurement_id
INNER JOIN model AS m ON m.model = i.model
WHERE i.match = 'refused';
