-- Kernel with the most operations of each run on each part: footprint, rate, tile, slowest memory level, and the level from which
-- weights are read. Plotted over sizes or batches, the rate shows at which footprint each memory level is exceeded and where the
-- tile changes.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW shmoo_point AS
WITH ranked_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY run, hardware ORDER BY flops DESC, position) AS flops_rank
    FROM kernel_cost
),

tiled_steps AS (
    SELECT
        k.*,
        t.step_id,
        t.tile_m,
        t.tile_n,
        t.tile_k,
        t.tile_count,
        t.tile_unit_count,
        t.ideal_s,
        MAX(t.ideal_s) OVER (PARTITION BY k.run, k.hardware) AS slowest_s
    FROM ranked_kernels AS k
    LEFT JOIN tile_step AS t
        ON t.run = k.run AND t.hardware = k.hardware AND t.shape_id = k.shape_id AND t.candidate = k.candidate AND t.is_product
    WHERE k.flops_rank = 1
),

-- The slowest product determines the tile, as in `kernel_mapping`.
ranked_steps AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY run, hardware ORDER BY tile_count, step_id) AS step_rank
    FROM tiled_steps
    WHERE ideal_s >= slowest_s * (1e0 - 1e-9) OR slowest_s IS NULL
)

SELECT
    run.model,
    hardware,
    -- Name of the part, marked if the part has no silicon.
    CONCAT(hardware, CASE WHEN is_simulated THEN ' (simulated)' ELSE '' END) AS part,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    -- Bytes that cross the kernel's border, each counted once. [byte]
    traffic_byte AS footprint_byte,
    flops,
    busy_s,
    -- Operations per second while the kernel keeps the device busy. [ops/s]
    flops / NULLIF(busy_s, 0e0) AS attained_ops_per_s,
    -- Tile as `m x n x k`; `none` if the kernel has no tile.
    CASE
        WHEN tile_m IS NULL THEN 'none'
        ELSE
            CONCAT(
                CAST(CAST(ROUND(tile_m) AS BIGINT) AS VARCHAR), ' x ',
                CAST(CAST(ROUND(tile_n) AS BIGINT) AS VARCHAR), ' x ',
                CAST(CAST(ROUND(tile_k) AS BIGINT) AS VARCHAR)
            )
    END AS tile,
    -- Number of tiles; null if the kernel has no tile.
    tile_count,
    -- Resource that sets the pace: `arithmetic` or a memory level.
    CASE WHEN compute_s >= memory_s THEN 'arithmetic' ELSE memory_level END AS served,
    -- Memory level from which weights are read: the last-level cache if it contains all weights at the start, else main memory;
    -- null without weights. Levels nearer to the units keep no data between kernels.
    CASE
        WHEN COALESCE(weight_byte, 0e0) = 0e0 THEN NULL
        WHEN cache_state = 'hot' AND traffic_byte <= cache_byte THEN cache_level
        WHEN held_weight_fraction >= 1e0 - 1e-9 THEN cache_level
        ELSE 'dram'
    END AS weight_level,
    held_weight_fraction,
    -- Number of units that the tiles are distributed over; all units of the part if the kernel has no tile.
    COALESCE(tile_unit_count, unit_count) AS unit_count,
    -- True if the footprint fits the part's last-level cache.
    traffic_byte <= cache_byte AS fits_cache
FROM ranked_steps
WHERE step_rank = 1
