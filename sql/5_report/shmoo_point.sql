-- The kernel with the most operations of each run on each part: its footprint, rate, tile and slowest level.
-- Over synthetic sizes or batches it shows where a part's memory tiers end and its tiling changes.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW shmoo_point (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Part, marked where no silicon exists.
    part,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Bytes that cross the kernel's border, each once. [byte]
    footprint_byte,
    -- Operations of the kernel.
    flops,
    -- Time the kernel keeps the device busy. [s]
    busy_s,
    -- Operations a second while it does. [ops/s]
    attained_ops_per_s,
    -- Tile as `m x n x k`; `none` without a matrix product.
    tile,
    -- Tiles, or blocks of threads.
    tile_count,
    -- `arithmetic`, or the memory level that sets the pace.
    served,
    -- True when the footprint fits the part's last-level cache.
    fits_cache
) AS
WITH ranked_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY flops DESC, position, subgraph_id
        ) AS flops_rank
    FROM kernel_cost
)

SELECT
    l.model,
    k.hardware_id AS hardware,
    CONCAT(k.hardware_id, CASE WHEN u.is_simulated THEN ' (simulated)' ELSE '' END) AS part,
    l.backend,
    l.precision,
    l.batch,
    k.model_id,
    k.scenario_id,
    k.hardware_id,
    k.traffic_byte AS footprint_byte,
    k.flops,
    k.busy_s,
    k.flops / NULLIF(k.busy_s, 0e0) AS attained_ops_per_s,
    CASE
        WHEN k.tile_m IS NULL THEN 'none'
        ELSE
            CONCAT(
                CAST(CAST(ROUND(k.tile_m) AS BIGINT) AS VARCHAR), ' x ',
                CAST(CAST(ROUND(k.tile_n) AS BIGINT) AS VARCHAR), ' x ',
                CAST(CAST(ROUND(k.tile_k) AS BIGINT) AS VARCHAR)
            )
    END AS tile,
    k.tile_count,
    CASE WHEN k.compute_s >= k.memory_s THEN 'arithmetic' ELSE k.memory_level END AS served,
    k.traffic_byte <= u.cache_byte AS fits_cache
FROM ranked_kernels AS k
INNER JOIN run_label AS l ON l.model_id = k.model_id AND l.scenario_id = k.scenario_id
INNER JOIN hardware_unit AS u ON u.hardware_id = k.hardware_id
WHERE k.flops_rank = 1
