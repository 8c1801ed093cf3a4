-- Memory levels of every part in one wide row: main memory, the last-level cache (the deepest level above main memory), the memory
-- in which tiles must fit (tile memory), and the stream buffers between tile memory and arithmetic. Sizes and bandwidths of a level
-- that each unit has are multiplied by the number of units.
-- Grain: hardware
CREATE VIEW part_level AS
WITH chip_memory AS (
    SELECT
        m.hardware,
        m.level,
        m.depth,
        m.scope,
        m.management,
        m.technology,
        m.keeps_weights,
        m.capacity_byte,
        m.unit_bandwidth_byte_per_s,
        c.unit_count,
        CASE WHEN m.scope = 'unit' THEN m.capacity_byte * c.unit_count ELSE m.capacity_byte END AS total_byte,
        CASE WHEN m.scope = 'unit' THEN m.bandwidth_byte_per_s * c.unit_count ELSE m.bandwidth_byte_per_s END
            AS total_byte_per_s
    FROM part_memory AS m
    LEFT JOIN part_unit AS c ON c.hardware = m.hardware
),

-- The depth is compared instead of passed to MAX_BY, because MAX_BY skips nulls and an unknown bandwidth must stay null.
last_caches AS (
    SELECT hardware, MAX(depth) AS depth
    FROM chip_memory
    WHERE level NOT IN ('dram', 'register') AND total_byte IS NOT NULL
    GROUP BY hardware
),

memory_totals AS (
    SELECT
        m.hardware,
        -- An impossible size gives null, so that no run's memory is compared with it.
        MAX(CASE WHEN m.level = 'dram' AND m.total_byte BETWEEN 0e0 AND 1e30 THEN m.total_byte END) AS dram_byte,
        MAX(CASE WHEN m.level = 'dram' THEN m.total_byte_per_s END) AS dram_byte_per_s,
        MAX(CASE WHEN m.level = 'dram' THEN m.unit_bandwidth_byte_per_s END) AS unit_dram_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte END) AS cache_byte,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte_per_s END) AS cache_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.level END) AS cache_level,
        MAX(CASE WHEN m.management = 'software' AND (m.depth = k.depth OR m.level = 'scratchpad' AND m.scope <> 'unit') THEN 1 ELSE 0 END)
        = 1 AS is_placed_by_software,
        MAX(CASE WHEN m.management = 'software' AND m.depth = k.depth THEN 1 ELSE 0 END) = 1 AS is_cache_of_software,
        MAX(CASE WHEN m.depth = k.depth THEN m.keeps_weights END) AS keeps_weights,
        MAX(CASE WHEN m.level = 'dram' AND m.technology = 'host' THEN 1 ELSE 0 END) = 1 AS is_of_host,
        MAX(CASE WHEN m.level = 'scratchpad' THEN m.total_byte / NULLIF(m.unit_count, 0e0) END) AS scratchpad_byte,
        MAX(CASE WHEN m.level = 'scratchpad' AND m.scope <> 'unit' THEN m.total_byte END) AS chip_scratchpad_byte,
        MAX(CASE WHEN m.level = 'register' AND m.scope = 'unit' THEN m.capacity_byte END) AS register_byte,
        MAX(CASE WHEN m.level = 'scratchpad' THEN m.total_byte_per_s END) AS scratchpad_byte_per_s,
        MAX(CASE WHEN m.level = 'l1' AND m.capacity_byte IS NOT NULL THEN m.level END) AS first_level,
        MAX(CASE WHEN m.level = 'l1' THEN m.capacity_byte END) AS l1_byte,
        MAX(CASE WHEN m.level = 'l1' THEN m.total_byte_per_s END) AS l1_byte_per_s,
        MAX(CASE WHEN m.level = 'l2' AND m.scope = 'unit' THEN m.capacity_byte END) AS unit_l2_byte,
        MAX(CASE WHEN m.level = 'l2' AND m.scope = 'unit' THEN m.total_byte_per_s END) AS unit_l2_byte_per_s
    FROM chip_memory AS m
    LEFT JOIN last_caches AS k ON k.hardware = m.hardware
    GROUP BY m.hardware
)

SELECT
    h.hardware,
    -- Size of main memory. [byte]
    m.dram_byte,
    -- Peak bandwidth of main memory. [byte/s]
    m.dram_byte_per_s,
    -- Largest rate at which one unit alone reads main memory; null when unknown. [byte/s]
    m.unit_dram_byte_per_s,
    -- Size of the last-level cache or on-chip memory; null when the part has none. [byte]
    m.cache_byte,
    -- Peak bandwidth of the last-level cache; null when unknown. [byte/s]
    m.cache_byte_per_s,
    -- Name of the last-level cache; null when the part has none.
    m.cache_level,
    -- True if software places data in the last-level cache or in a scratchpad shared by all units, so that a batch may run in
    -- groups small enough to stay on the chip. False for a level slower than main memory.
    COALESCE(m.is_placed_by_software AND COALESCE(m.cache_byte_per_s >= m.dram_byte_per_s, TRUE), FALSE) AS takes_groups,
    -- True if software places data in the last-level cache, so that no replacement policy evicts data that fit.
    COALESCE(m.is_cache_of_software AND COALESCE(m.cache_byte_per_s >= m.dram_byte_per_s, TRUE), FALSE) AS is_cache_placed,
    -- True if weights that fit the last-level cache stay there between runs: by the row of the part or its family, and on every
    -- part that uses a host's main memory.
    COALESCE(
        m.is_cache_of_software AND COALESCE(m.cache_byte_per_s >= m.dram_byte_per_s, TRUE)
        AND COALESCE(m.keeps_weights, m.is_of_host OR f.keeps_weights), FALSE
    ) AS keeps_weights,
    -- Name of the memory level in which tiles must fit: the second level of each unit on processors and domain-flow parts, else the
    -- scratchpad or first level; null when the part has none.
    CASE
        WHEN f.tiles_second_level AND m.unit_l2_byte IS NOT NULL THEN 'l2'
        WHEN NOT f.tiles_second_level AND m.scratchpad_byte IS NOT NULL THEN 'scratchpad'
        WHEN m.l1_byte IS NOT NULL THEN 'l1'
    END AS tile_memory_level,
    -- Size of the registers of one unit; null when unknown. [byte]
    m.register_byte,
    -- Capacity, per unit, of the memory in which tiles must fit: the unit's own memory, or its share of a shared memory. [byte]
    CASE
        WHEN f.tiles_second_level THEN COALESCE(m.unit_l2_byte, m.l1_byte, m.cache_byte / NULLIF(c.unit_count, 0e0))
        ELSE COALESCE(m.scratchpad_byte, m.l1_byte, m.cache_byte / NULLIF(c.unit_count, 0e0))
    END AS tile_memory_byte,
    -- Size of a tile memory that all units share; null where each unit has a separate tile memory. [byte]
    CASE WHEN NOT f.tiles_second_level THEN m.chip_scratchpad_byte END AS tile_memory_pool_byte,
    -- Peak bandwidth of all units' tile memories together; null when unknown. [byte/s]
    CASE
        WHEN f.tiles_second_level AND m.unit_l2_byte IS NOT NULL THEN m.unit_l2_byte_per_s
        WHEN NOT f.tiles_second_level AND m.scratchpad_byte IS NOT NULL THEN m.scratchpad_byte_per_s
        WHEN m.l1_byte IS NOT NULL THEN m.l1_byte_per_s
    END AS tile_memory_byte_per_s,
    -- Name of the first memory level if tiles reside in another level; operands and data outside of tiles stream through the first
    -- level. Null if tiles reside in the first level.
    CASE
        WHEN (f.tiles_second_level AND m.unit_l2_byte IS NOT NULL) OR (NOT f.tiles_second_level AND m.scratchpad_byte IS NOT NULL)
            THEN m.first_level
    END AS stream_level,
    -- Size of the first level of one unit; null without a first level. [byte]
    m.l1_byte AS stream_memory_byte,
    -- Peak bandwidth of all units' first levels together; null when unknown. [byte/s]
    m.l1_byte_per_s AS stream_memory_byte_per_s
FROM hardware AS h
INNER JOIN hardware_family AS f ON f.family = h.family
LEFT JOIN part_unit AS c ON c.hardware = h.hardware
LEFT JOIN memory_totals AS m ON m.hardware = h.hardware
