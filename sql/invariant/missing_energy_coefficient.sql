-- Parts whose energy comes out unknown: arithmetic they execute, a memory level they have or their static power
-- has no coefficient.
-- Grain: hardware_id, what, key
CREATE VIEW missing_energy_coefficient (
    -- Part.
    hardware_id,
    -- `op`, `byte` or `static`.
    what,
    -- Precision and unit, memory level, or `chip`.
    key
) AS
WITH needed_coefficients AS (
    SELECT DISTINCT hardware_id, 'op' AS what, CONCAT(precision, '.', unit) AS key
    FROM hardware_peak
    WHERE NOT (accumulator = 'fp16' AND unit = 'matrix')
    UNION
    SELECT hardware_id, 'byte' AS what, 'dram' AS key
    FROM hardware_unit
    WHERE dram_byte_per_s IS NOT NULL
    UNION
    SELECT hardware_id, 'byte' AS what, cache_level AS key
    FROM hardware_unit
    WHERE cache_level IS NOT NULL
    UNION
    SELECT hardware_id, 'byte' AS what, tile_memory_level AS key
    FROM hardware_unit
    WHERE tile_memory_level IS NOT NULL
    UNION
    SELECT hardware_id, 'static' AS what, 'chip' AS key
    FROM hardware
)

SELECT
    n.hardware_id,
    n.what,
    n.key
FROM needed_coefficients AS n
LEFT JOIN energy_profile AS e ON e.hardware_id = n.hardware_id AND e.what = n.what AND e.key = n.key
WHERE e.value IS NULL
