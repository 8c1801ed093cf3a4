-- Clusters of every part with dependent clocks: matrix units keep their ratio to the boost clock.
-- Grain: hardware, cluster
CREATE VIEW part_cluster AS
SELECT
    c.* EXCLUDE (clock_matrix_hz, derived_matrix_hz),
    -- Clock of the matrix units, which moves with the boost clock; null where they have none of their own. [Hz]
    c.clock_matrix_hz * COALESCE(c.clock_boost_hz / NULLIF(COALESCE(s.derived_value, c.derived_matrix_hz), 0e0), 1e0)
        AS clock_matrix_hz
FROM hardware_cluster AS c
LEFT JOIN restated_number AS s
    ON s.hardware = c.hardware AND s.field = CONCAT('cluster.', c.cluster, '.clock_matrix_hz')
