-- Clusters of every part with the clocks that follow from each other: matrix units keep their share of the boost clock.
-- Grain: hardware, cluster
CREATE VIEW part_cluster AS
SELECT
    c.* EXCLUDE (clock_matrix_hz, derived_matrix_hz),
    -- Clock of the matrix units: as stated beside the boost clock of then, moved with the boost clock; null where they have
    -- no other than that. [Hz]
    c.clock_matrix_hz * COALESCE(c.clock_boost_hz / NULLIF(COALESCE(s.derived_value, c.derived_matrix_hz), 0e0), 1e0)
        AS clock_matrix_hz
FROM hardware_cluster AS c
LEFT JOIN restated_number AS s
    ON s.hardware = c.hardware AND s.field = CONCAT('cluster.', c.cluster, '.clock_matrix_hz')
