-- Output-stationary square blocks that fit a core's private cache: products on processors, except attention that PyTorch divides
-- into query blocks (`tile_query_block`). Blocks are distributed over the cores in whole waves.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_square AS
WITH sized_blocks AS (
    SELECT
        s.run,
        s.shape_id,
        g.hardware,
        g.arithmetic,
        s.step_id,
        s.is_product,
        s.product_count,
        g.candidate,
        g.is_matrix,
        g.executed_precision,
        g.strategy,
        g.tile_unit_count,
        g.peak_ops_per_s,
        g.unit_ops_per_s,
        g.op_j,
        s.flops,
        s.m,
        s.n,
        s.k,
        s.gemm_count,
        s.macs, s.threads, s.taps, s.image, s.query_count, s.query_heads, s.compute_precision,
        s.rounds,
        g.element_byte,
        g.stages,
        g.tile_memory_byte_per_s,
        g.stream_memory_byte,
        g.stream_memory_byte_per_s,
        g.stream_block,
        g.sustained_fraction,
        LEAST(g.square_block, s.m) AS tile_m,
        LEAST(g.square_block, CEIL(s.n / NULLIF(g.lanes, 0e0)) * g.lanes) AS tile_n,
        LEAST(g.square_block, s.k) AS tile_k,
        g.wave_quantization_fraction
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision AND g.dataflow = 'square'
    WHERE s.is_product AND g.overflowing_level IS NULL AND (s.query_count IS NULL OR NOT g.cuts_queries)
),

counted_blocks AS (
    SELECT
        *,
        gemm_count * CEIL(m / NULLIF(tile_m, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0)) AS tile_count
    FROM sized_blocks
),

waved_blocks AS (
    SELECT
        *,
        -- Time steps of a recurrence run in sequence and share no wave.
        GREATEST(rounds, 1e0) AS turns,
        turns * CEIL(tile_count / NULLIF(turns * tile_unit_count, 0e0)) AS waves,
        turns * wave_count(
            waves / NULLIF(turns, 0e0), tile_count / NULLIF(turns, 0e0), tile_unit_count, wave_quantization_fraction
        ) AS effective_waves
    FROM counted_blocks
)

SELECT
    * EXCLUDE (
        tile_memory_byte_per_s, stream_memory_byte, stream_memory_byte_per_s, stream_block, sustained_fraction, tile_m,
        tile_n, tile_k, wave_quantization_fraction, tile_count, waves, effective_waves, rounds, turns
    ),
    -- Rows of the tile; null without a tile.
    tile_m,
    -- Columns of the tile; null without a tile.
    tile_n,
    -- Depth of the tile; null without a tile.
    tile_k,
    -- Number of tiles, or of blocks of threads.
    tile_count,
    -- Number of waves until all tiles are done.
    waves,
    -- Share of the tile's time during which the pipeline is full.
    1e0 AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    1e0 AS unit_tile_count,
    -- Size of the results that the tile keeps next to its unit; null if all results stay there in single precision. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    tile_memory_byte_per_s AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory. [byte]
    0e0 AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic, in square blocks that fit the first level; 0 without that level.
    -- [byte]
    CASE
        WHEN stream_memory_byte IS NULL THEN 0e0
        ELSE element_byte * gemm_count * (
            m * k * CEIL(n / NULLIF(LEAST(stream_block, tile_n), 0e0)) + k * n * CEIL(m / NULLIF(LEAST(stream_block, tile_m), 0e0))
        )
    END AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    stream_memory_byte_per_s AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    effective_waves * 2e0 * tile_m * tile_n * k / NULLIF(unit_ops_per_s * sustained_fraction, 0e0) AS tiled_s
FROM waved_blocks
