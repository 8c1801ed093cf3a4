-- Memory levels of every part, stated and derived: a bandwidth that nobody states follows from its rule, a stated one moves
-- with what its rule rests on.
-- Grain: hardware, level
CREATE VIEW part_memory AS
WITH derived_levels AS (
    SELECT
        hardware,
        level,
        scope,
        MAX(CASE WHEN quantity = 'memory.capacity_byte' THEN value END) AS capacity_byte,
        MAX(CASE WHEN quantity = 'memory.bandwidth_byte_per_s' THEN value END) AS bandwidth_byte_per_s,
        MAX(CASE WHEN quantity = 'memory.unit_bandwidth_byte_per_s' THEN value END) AS unit_bandwidth_byte_per_s
    FROM derived_memory
    GROUP BY hardware, level, scope
)

SELECT
    m.hardware,
    m.level,
    d.depth,
    m.scope,
    m.management,
    m.technology,
    m.capacity_byte,
    -- Peak bandwidth, of one unit's share where scope is `unit`; null when neither stated nor derived. [byte/s]
    COALESCE(
        m.bandwidth_byte_per_s
        * COALESCE(r.bandwidth_byte_per_s / NULLIF(COALESCE(s.derived_value, m.derived_byte_per_s), 0e0), 1e0),
        r.bandwidth_byte_per_s
    ) AS bandwidth_byte_per_s,
    -- Most that one compute unit alone draws of a level that all share; null when unknown. [byte/s]
    COALESCE(m.unit_bandwidth_byte_per_s, r.unit_bandwidth_byte_per_s) AS unit_bandwidth_byte_per_s,
    m.achievable_fraction
FROM hardware_memory AS m
LEFT JOIN memory_level AS d ON d.level = m.level
LEFT JOIN derived_levels AS r ON r.hardware = m.hardware AND r.level = m.level
LEFT JOIN restated_number AS s
    ON s.hardware = m.hardware AND s.field = CONCAT('memory.', m.level, '.bandwidth_byte_per_s')
UNION ALL
SELECT
    r.hardware,
    r.level,
    d.depth,
    r.scope,
    'software' AS management,
    'SRAM' AS technology,
    r.capacity_byte,
    r.bandwidth_byte_per_s,
    r.unit_bandwidth_byte_per_s,
    CAST(NULL AS DOUBLE) AS achievable_fraction
FROM derived_levels AS r
INNER JOIN memory_level AS d ON d.level = r.level
LEFT JOIN hardware_memory AS m ON m.hardware = r.hardware AND m.level = r.level
WHERE m.level IS NULL
