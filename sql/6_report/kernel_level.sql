-- Traffic of every kernel with its chosen tile, one row per memory level, from main memory inwards: bytes, time and energy. On
-- parts without tile memories, tiles load from the last-level cache. The energies of the levels sum to the kernel's memory energy.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, border
CREATE VIEW kernel_level AS
WITH borders AS (
    SELECT 'dram' AS border
    UNION ALL
    SELECT 'cache' AS border
    UNION ALL
    SELECT 'tile' AS border
    UNION ALL
    SELECT 'stream' AS border
),

crossed_levels AS (
    SELECT
        k.*,
        b.border,
        CASE b.border
            WHEN 'dram' THEN 'dram'
            WHEN 'cache' THEN k.cache_level
            WHEN 'tile' THEN k.tile_memory_level
            ELSE k.stream_level
        END AS level
    FROM kernel_time AS k
    CROSS JOIN borders AS b
)

SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.kernel_id,
    -- Position of the level in the hierarchy: `dram`, `cache` (last-level cache), `tile` (the level in which tiles must fit) or
    -- `stream` (the first level, if tiles reside in another level).
    k.border,
    k.kernel,
    k.operator,
    k.module,
    k.kernel_class,
    -- Name of the level on this part; one level may be both `cache` and `tile`.
    k.level,
    -- Capacity of the level on the whole part, summed over units if each has its own memory; null when unknown. [byte]
    CASE k.border
        WHEN 'dram' THEN k.main_memory_byte
        WHEN 'cache' THEN k.cache_byte
        WHEN 'tile' THEN h.tile_memory_byte * h.unit_count
        ELSE h.stream_memory_byte * h.unit_count
    END AS capacity_byte,
    -- Bytes that cross into or out of the level. [byte]
    CASE k.border
        WHEN 'dram' THEN k.dram_byte + k.reorder_byte + k.library_written_byte
        WHEN 'cache' THEN CASE WHEN k.tile_memory_level IS NULL THEN GREATEST(k.moved_byte, k.reload_byte) ELSE GREATEST(k.moved_byte, k.fetch_byte) END
        WHEN 'tile' THEN k.reload_byte
        ELSE k.stream_byte
    END AS level_byte,
    -- Peak bandwidth of the level for all units together; null when unknown. [byte/s]
    CASE k.border
        WHEN 'dram' THEN k.dram_byte_per_s
        WHEN 'cache' THEN k.cache_byte_per_s
        WHEN 'tile' THEN k.tile_memory_byte_per_s
        ELSE k.stream_memory_byte_per_s
    END AS bandwidth_byte_per_s,
    -- Time to move the level's bytes. [s]
    CASE k.border
        WHEN 'dram' THEN k.dram_s + k.reorder_s + k.library_s
        WHEN 'cache' THEN CASE WHEN k.tile_memory_level IS NULL THEN GREATEST(k.cache_s, k.reload_s) ELSE GREATEST(k.cache_s, k.fetch_s) END
        WHEN 'tile' THEN k.reload_s
        ELSE k.stream_s
    END AS level_s,
    -- Energy to move the level's bytes, without energy that the energies of operations already include; null when a coefficient is
    -- missing. [J]
    CASE k.border
        WHEN 'dram' THEN k.dram_energy_j + k.reorder_energy_j + k.library_energy_j
        WHEN 'cache' THEN k.cache_energy_j + k.fetch_energy_j + CASE WHEN k.tile_memory_level IS NULL THEN k.reload_energy_j ELSE 0e0 END
        WHEN 'tile' THEN k.reload_energy_j
        ELSE k.stream_energy_j
    END AS level_j,
    -- True for the level that sets the pace of the kernel's memory.
    COALESCE(k.memory_level = k.level, FALSE) AS is_slowest
FROM crossed_levels AS k
INNER JOIN part AS h ON h.hardware = k.hardware
WHERE k.level IS NOT NULL
