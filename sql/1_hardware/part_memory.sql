-- Memory levels of every part, stated and derived. An unstated bandwidth follows from its rule. A stated bandwidth scales with
-- edited units and clocks if its rule depends on them, but not with the main-memory bandwidth, which does not affect on-chip
-- memories.
-- Grain: hardware, level
CREATE VIEW part_memory AS
WITH derived_levels AS (
    SELECT
        hardware,
        level,
        scope,
        MAX(CASE WHEN quantity = 'memory.capacity_byte' THEN value END) AS capacity_byte,
        MAX(CASE WHEN quantity = 'memory.bandwidth_byte_per_s' THEN value END) AS bandwidth_byte_per_s,
        MAX(CASE WHEN quantity = 'memory.bandwidth_byte_per_s' AND basis <> 'dram' THEN value END) AS followed_byte_per_s,
        MAX(CASE WHEN quantity = 'memory.unit_bandwidth_byte_per_s' THEN value END) AS unit_bandwidth_byte_per_s
    FROM derived_memory
    GROUP BY hardware, level, scope
),

levels AS (
    SELECT hardware, level FROM hardware_memory
    UNION
    SELECT hardware, level FROM derived_levels
)

SELECT
    l.hardware,
    l.level,
    d.depth,
    -- Scope of the level: `unit` if each compute unit has a separate memory, `chip` if all units share one memory.
    COALESCE(m.scope, r.scope) AS scope,
    -- Management of the level: `hardware` for a cache, `software` for a scratchpad or main memory.
    COALESCE(m.management, 'software') AS management,
    -- Memory technology: `SRAM`, `HBM3`, `GDDR6X`, `DDR5`, `LPDDR5`, ...
    CASE WHEN m.level IS NULL THEN 'SRAM' ELSE m.technology END AS technology,
    -- Size of the level; per unit where scope is `unit`. [byte]
    CASE WHEN m.level IS NULL THEN r.capacity_byte ELSE m.capacity_byte END AS capacity_byte,
    -- Peak bandwidth; per unit where scope is `unit`; null when neither stated nor derived. [byte/s]
    COALESCE(
        m.bandwidth_byte_per_s
        * COALESCE(r.followed_byte_per_s / NULLIF(COALESCE(s.derived_value, m.derived_byte_per_s), 0e0), 1e0),
        r.bandwidth_byte_per_s
    ) AS bandwidth_byte_per_s,
    -- Largest rate at which one compute unit alone reads a level shared by all; null when unknown. [byte/s]
    COALESCE(m.unit_bandwidth_byte_per_s, r.unit_bandwidth_byte_per_s) AS unit_bandwidth_byte_per_s,
    m.* EXCLUDE (
        hardware, level, scope, management, technology, capacity_byte, bandwidth_byte_per_s, derived_byte_per_s,
        unit_bandwidth_byte_per_s
    )
FROM levels AS l
LEFT JOIN memory_level AS d ON d.level = l.level
LEFT JOIN hardware_memory AS m ON m.hardware = l.hardware AND m.level = l.level
LEFT JOIN derived_levels AS r ON r.hardware = l.hardware AND r.level = l.level
LEFT JOIN restated_number AS s
    ON s.hardware = l.hardware AND s.field = CONCAT('memory.', l.level, '.bandwidth_byte_per_s')
