-- Clusters of every part. The clock of the matrix units keeps its ratio to the boost clock when the boost clock is edited. Arrays
-- without a stated number of accumulators have that of the family.
-- Grain: hardware, cluster
CREATE VIEW part_cluster AS
SELECT
    c.* EXCLUDE (clock_matrix_hz, derived_matrix_hz, accumulator_rows),
    -- Number of partial results that each column of an array keeps in an accumulator memory; null when unknown or without an array.
    COALESCE(c.accumulator_rows, CASE WHEN c.array_columns IS NOT NULL THEN f.accumulator_rows END) AS accumulator_rows,
    -- Clock of the matrix units, in proportion to the boost clock; null if the matrix units have no separate clock. [Hz]
    c.clock_matrix_hz * COALESCE(c.clock_boost_hz / NULLIF(COALESCE(s.derived_value, c.derived_matrix_hz), 0e0), 1e0)
        AS clock_matrix_hz
FROM hardware_cluster AS c
LEFT JOIN hardware AS h ON h.hardware = c.hardware
LEFT JOIN hardware_family AS f ON f.family = h.family
LEFT JOIN restated_number AS s
    ON s.hardware = c.hardware AND s.field = CONCAT('cluster.', c.cluster, '.clock_matrix_hz')
