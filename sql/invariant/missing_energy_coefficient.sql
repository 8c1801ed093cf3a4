-- Parts with unknown energies: their arithmetic, one of their memory levels or their static power has no coefficient.
-- Grain: hardware, what, key
CREATE VIEW missing_energy_coefficient AS
WITH needed_coefficients AS (
    SELECT DISTINCT k.hardware, 'op' AS what, CONCAT(k.precision, '.', k.unit) AS key
    FROM part_peak AS k
    INNER JOIN hardware AS h ON h.hardware = k.hardware
    WHERE NOT (k.accumulator = 'fp16' AND k.unit = 'matrix')
    UNION
    SELECT hardware, 'byte' AS what, 'dram' AS key
    FROM part
    WHERE dram_byte_per_s IS NOT NULL
    UNION
    SELECT hardware, 'byte' AS what, cache_level AS key
    FROM part
    WHERE cache_level IS NOT NULL
    UNION
    SELECT hardware, 'byte' AS what, tile_memory_level AS key
    FROM part
    WHERE tile_memory_level IS NOT NULL
    UNION
    SELECT hardware, 'byte' AS what, stream_level AS key
    FROM part
    WHERE stream_level IS NOT NULL
    UNION
    SELECT hardware, 'static' AS what, 'chip' AS key
    FROM hardware
)

SELECT
    n.hardware,
    -- Kind of the coefficient: `op`, `byte` or `static`.
    n.what,
    -- Key of the coefficient: precision and unit, memory level, or `chip`.
    n.key
FROM needed_coefficients AS n
LEFT JOIN part_energy AS e ON e.hardware = n.hardware AND e.what = n.what AND e.key = n.key
WHERE e.value IS NULL
