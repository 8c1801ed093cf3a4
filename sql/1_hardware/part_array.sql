-- Arrays of every cluster, and of all units of a part together (`all`), since a peak may belong to one cluster or to all units.
-- Grain: hardware, cluster
CREATE VIEW part_array AS
WITH cluster_arrays AS (
    SELECT
        c.hardware,
        c.cluster,
        CAST(c.unit_count AS DOUBLE) AS unit_count,
        CAST(COALESCE(c.array_rows, 1) AS DOUBLE) AS array_rows,
        CAST(COALESCE(c.array_columns, 1) AS DOUBLE) AS array_columns,
        CAST(COALESCE(c.accumulator_rows, f.accumulator_rows, 0) AS DOUBLE) AS accumulator_rows
    FROM hardware_cluster AS c
    LEFT JOIN hardware AS h ON h.hardware = c.hardware
    LEFT JOIN hardware_family AS f ON f.family = h.family
),

least_accumulators AS (
    SELECT hardware, MIN(accumulator_rows) AS accumulator_rows
    FROM cluster_arrays
    GROUP BY hardware
)

SELECT
    hardware,
    cluster,
    -- Number of units of the cluster, or of the part.
    unit_count,
    -- Number of rows of a unit's array; 1 without an array.
    array_rows,
    -- Number of columns of a unit's array; 1 without an array.
    array_columns,
    -- Number of partial results that each column of an array keeps in an accumulator memory while weights or inputs stay: the
    -- cluster's, else the family's; 0 if partial results pass through the tile memory. Of all units, the smallest number.
    accumulator_rows
FROM cluster_arrays
UNION ALL
SELECT p.hardware, 'all' AS cluster, p.unit_count, p.array_rows, p.array_columns, COALESCE(a.accumulator_rows, 0e0) AS accumulator_rows
FROM part AS p
LEFT JOIN least_accumulators AS a ON a.hardware = p.hardware
