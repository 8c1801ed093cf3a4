-- Compute units of every part, all clusters together.
-- Grain: hardware
CREATE VIEW part_unit AS
SELECT
    hardware,
    -- Compute units: SMs, cores, matrix units, tiles.
    CAST(SUM(unit_count) AS DOUBLE) AS unit_count,
    -- fp32 results of a unit of the widest cluster per clock: the grain of blocks of results.
    CAST(COALESCE(MAX(lanes), 0) AS DOUBLE) AS lanes,
    -- Rows of a unit's systolic or processing-element array; 1 without one. Clusters that differ give the root mean square, so that
    -- the number of processing elements is kept.
    SQRT(SUM(unit_count * POWER(COALESCE(array_rows, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_rows,
    -- Columns of that array; 1 without one.
    SQRT(SUM(unit_count * POWER(COALESCE(array_columns, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_columns,
    -- Boost clock of the fastest cluster; null when unknown. [Hz]
    MAX(clock_boost_hz) AS clock_boost_hz
FROM hardware_cluster
GROUP BY hardware
