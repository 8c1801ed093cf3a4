-- Candidate tiles of every kernel with a matrix product, on every part: the kernel's time at full clock with each tile, or the
-- memory level that is too small for the tile. Rows that users add to `tiling_strategy` are candidates too.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, candidate
CREATE VIEW kernel_tile AS
WITH refused_steps AS (
    SELECT s.run, s.shape_id, g.hardware, g.candidate, g.overflowing_level
    FROM shape_step AS s
    INNER JOIN part_tile AS g ON g.backend = s.run.backend AND g.compute_precision = s.compute_precision
    INNER JOIN part_support AS t ON t.hardware = g.hardware AND t.backend = s.run.backend AND t.precision = s.run.precision
    WHERE s.is_product AND g.overflowing_level IS NOT NULL
    UNION ALL
    SELECT run, shape_id, hardware, candidate, overflowing_level
    FROM tile_block
    WHERE overflowing_level IS NOT NULL
),

candidates AS (
    SELECT
        run,
        shape_id,
        hardware,
        candidate,
        CAST(NULL AS VARCHAR) AS overflowing_level,
        unlimited_s,
        compute_s,
        slowest_memory_s,
        dynamic_energy_j,
        reload_byte,
        stream_byte,
        units_allocated,
        rank_s
    FROM tile_rank
    WHERE candidate IS NOT NULL
    UNION ALL
    SELECT
        run,
        shape_id,
        hardware,
        candidate,
        MIN(overflowing_level) AS overflowing_level,
        CAST(NULL AS DOUBLE) AS unlimited_s,
        CAST(NULL AS DOUBLE) AS compute_s,
        CAST(NULL AS DOUBLE) AS slowest_memory_s,
        CAST(NULL AS DOUBLE) AS dynamic_energy_j,
        CAST(NULL AS DOUBLE) AS reload_byte,
        CAST(NULL AS DOUBLE) AS stream_byte,
        CAST(NULL AS DOUBLE) AS units_allocated,
        CAST(NULL AS DOUBLE) AS rank_s
    FROM refused_steps
    GROUP BY run, shape_id, hardware, candidate
),

compared_candidates AS (
    SELECT
        *,
        MIN(rank_s) OVER (PARTITION BY run, hardware, shape_id) AS least_s
    FROM candidates
)

SELECT
    k.run.model,
    c.hardware,
    k.run.backend,
    k.run.precision,
    k.run.batch,
    k.run.sequence,
    k.run.scenario_id,
    k.kernel_id,
    k.kernel,
    k.operator,
    k.module,
    c.candidate,
    s.strategy,
    s.dataflow,
    -- Rows of the tile as listed; 0 if charz computes the size.
    s.tile_m,
    -- Columns of the tile as listed; 0 if charz computes the size.
    s.tile_n,
    -- Depth of the tile as listed; 0 if charz computes the size.
    s.tile_k,
    s.divisor,
    s.split_k,
    -- True for the tile that is chosen for the kernel.
    COALESCE(c.rank_s = c.least_s, FALSE) AS is_chosen,
    -- Memory level that is too small for the tile; null if the tile fits in all levels.
    CASE c.overflowing_level
        WHEN 'tile' THEN h.tile_memory_level
        WHEN 'stream' THEN h.stream_level
        ELSE c.overflowing_level
    END AS overflowing_level,
    -- Time that the kernel keeps the device busy with the tile at full clock; null if a memory level is too small for the tile. [s]
    c.unlimited_s,
    c.compute_s,
    c.slowest_memory_s,
    c.dynamic_energy_j,
    c.reload_byte,
    c.stream_byte,
    c.units_allocated
FROM run_kernel AS k
INNER JOIN compared_candidates AS c ON c.run = k.run AND c.shape_id = k.shape_id
INNER JOIN part AS h ON h.hardware = c.hardware
INNER JOIN part_strategy AS s ON s.hardware = c.hardware AND s.candidate = c.candidate
