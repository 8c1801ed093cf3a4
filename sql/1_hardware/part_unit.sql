-- Compute units of every part, summed over all clusters.
-- Grain: hardware
CREATE VIEW part_unit AS
SELECT
    hardware,
    -- Number of compute units: SMs, cores, matrix units or tiles.
    CAST(SUM(unit_count) AS DOUBLE) AS unit_count,
    -- Number of fp32 results per clock of a unit of the widest cluster; block sizes are multiples of this number.
    CAST(COALESCE(MAX(lanes), 0) AS DOUBLE) AS lanes,
    -- Number of rows of a unit's systolic or processing-element array; 1 without an array. For clusters that differ, the root mean
    -- square, which preserves the number of processing elements.
    SQRT(SUM(unit_count * POWER(COALESCE(array_rows, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_rows,
    -- Number of columns of a unit's array; 1 without an array.
    SQRT(SUM(unit_count * POWER(COALESCE(array_columns, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_columns,
    -- Boost clock of the fastest cluster; null when unknown. [Hz]
    MAX(clock_boost_hz) AS clock_boost_hz
FROM hardware_cluster
GROUP BY hardware
