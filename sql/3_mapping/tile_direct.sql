-- Products without tiles, computed element by element on the vector units: narrow products (grouped convolutions, few channels),
-- whose padding to a tile would waste work; products of few rows on servers that have special kernels; and products in an element
-- type that no array computes. Like all vector work, they are distributed in blocks of threads: a partly filled last block costs as
-- much as a whole block, so that more threads never take less time.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_direct AS
WITH counted_blocks AS (
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
        g.element_byte,
        g.stages,
        g.tile_memory_byte_per_s,
        g.is_staged,
        g.load_unit_byte_per_s,
        g.stream_unit_byte_per_s,
        GREATEST(1e0, CEIL(s.threads / NULLIF(g.block_threads, 0e0))) AS tile_count,
        LEAST(1e0, g.block_threads / GREATEST(s.threads, 1e0)) AS block_fraction,
        g.filled_fraction,
        g.wave_quantization_fraction
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision AND g.dataflow = 'direct'
    WHERE s.is_product AND (s.is_row_wise OR s.is_vector_only OR COALESCE(s.n <= g.listed_n, TRUE))
),

waved_blocks AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(tile_unit_count, 0e0)) AS waves,
        wave_count(waves, tile_count, tile_unit_count, wave_quantization_fraction) AS effective_waves,
        CASE WHEN is_staged THEN element_byte * gemm_count * (m * k + k * n + m * n) ELSE 0e0 END AS staged_byte
    FROM counted_blocks
),

-- The busiest unit moves the rows and results of its own threads, and all columns of their products.
busy_blocks AS (
    SELECT
        *,
        staged_byte / NULLIF(
            element_byte * (
                waves * block_fraction * gemm_count * m * (k + n)
                + LEAST(waves * GREATEST(1e0, block_fraction * gemm_count), gemm_count) * k * n
            ), 0e0
        ) AS busy_units
    FROM waved_blocks
)

SELECT
    * EXCLUDE (
        tile_memory_byte_per_s, is_staged, load_unit_byte_per_s, stream_unit_byte_per_s, tile_count, block_fraction,
        filled_fraction, wave_quantization_fraction, waves, effective_waves, staged_byte, busy_units
    ),
    -- Rows of the tile; null without a tile.
    CAST(NULL AS DOUBLE) AS tile_m,
    -- Columns of the tile; null without a tile.
    CAST(NULL AS DOUBLE) AS tile_n,
    -- Depth of the tile; null without a tile.
    CAST(NULL AS DOUBLE) AS tile_k,
    -- Number of tiles, or of blocks of threads.
    tile_count,
    -- Number of waves until all tiles are done.
    waves,
    -- Share of the tile's time during which the pipeline is full.
    1e0 AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    1e0 AS unit_tile_count,
    -- Size of the results that the tile keeps next to its unit; null without a tile. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    CASE WHEN is_staged THEN load_unit_byte_per_s * busy_units ELSE tile_memory_byte_per_s END
        AS load_byte_per_s,
    -- Bytes that cross the border of the tile memory if software moves all of them: operands of each result, and results. [byte]
    staged_byte AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic; 0 if stream buffers are not modelled. [byte]
    staged_byte AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    stream_unit_byte_per_s * busy_units AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    effective_waves * flops * block_fraction / NULLIF(unit_ops_per_s * filled_fraction, 0e0) AS tiled_s
FROM busy_blocks
