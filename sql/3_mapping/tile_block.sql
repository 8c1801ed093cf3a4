-- Blocks of a domain-flow product that a unit computes, for every candidate: number of array tiles, depth of the slabs of both
-- operands in the tile memory, and the memory that is too small. A block of one array tile keeps its results in the array, so that
-- slabs may have any depth; a larger block with a cut reduction keeps results next to the slabs (kpu_tiling: Ti*Tk + Tk*Tj + Ti*Tj
-- <= L2, operands double-buffered).
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_block AS
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
        g.element_byte,
        g.stages,
        g.is_staged,
        g.has_own_memory,
        g.fetches_tiles,
        g.array_clock_hz,
        g.filled_fraction,
        g.fed_array_hz,
        g.tile_memory_byte_per_s,
        g.load_unit_byte_per_s,
        g.stream_unit_byte_per_s,
        g.tile_memory_byte,
        g.stream_memory_byte,
        g.wave_quantization_fraction,
        g.split_k,
        g.listed_k,
        g.matrix_array_rows AS array_rows,
        g.matrix_array_columns AS array_columns,
        CASE WHEN g.listed_m = 0e0 THEN g.matrix_array_rows ELSE g.listed_m END AS tile_m,
        CASE WHEN g.listed_n = 0e0 THEN g.matrix_array_columns ELSE g.listed_n END AS tile_n,
        CEIL(s.k / NULLIF(g.split_k, 0e0)) AS slice_k
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision AND g.dataflow = 'wavefront'
    WHERE s.is_product
),

counted_tiles AS (
    SELECT
        *,
        CEIL(LEAST(tile_m, m) / NULLIF(array_rows, 0e0)) * CEIL(LEAST(tile_n, n) / NULLIF(array_columns, 0e0)) AS block_tiles,
        FLOOR(m / NULLIF(tile_m, 0e0)) * CEIL(tile_m / NULLIF(array_rows, 0e0))
        + CEIL(m % NULLIF(tile_m, 0e0) / NULLIF(array_rows, 0e0)) AS product_count_m,
        FLOOR(n / NULLIF(tile_n, 0e0)) * CEIL(tile_n / NULLIF(array_columns, 0e0))
        + CEIL(n % NULLIF(tile_n, 0e0) / NULLIF(array_columns, 0e0)) AS product_count_n
    FROM sized_blocks
),

deep_blocks AS (
    SELECT
        *,
        CASE
            WHEN listed_k > 0e0 THEN LEAST(listed_k, slice_k)
            WHEN block_tiles > 1e0 THEN slice_k
            ELSE LEAST(slice_k, FLOOR(tile_memory_byte / NULLIF(stages * element_byte * (tile_m + tile_n), 0e0)))
        END AS tile_k
    FROM counted_tiles
),

slabbed_blocks AS (
    SELECT
        *,
        CASE WHEN block_tiles > 1e0 THEN CEIL(slice_k / NULLIF(tile_k, 0e0)) ELSE 1e0 END AS slab_count
    FROM deep_blocks
),

kept_blocks AS (
    SELECT
        *,
        CASE WHEN slab_count > 1e0 THEN 4e0 * tile_m * tile_n ELSE 0e0 END AS kept_result_byte
    FROM slabbed_blocks
)

SELECT
    * EXCLUDE (
        slab_count, kept_result_byte, array_rows, array_columns, block_tiles, product_count_m, product_count_n, slice_k, tile_k,
        tile_m, tile_n
    ),
    -- Rows of the array.
    array_rows,
    -- Columns of the array.
    array_columns,
    -- Rows of the block.
    tile_m,
    -- Columns of the block.
    tile_n,
    -- Depth of both operands in the tile memory at once.
    tile_k,
    -- Largest number of array tiles in a block of the product.
    block_tiles,
    -- Number of array tiles down a product.
    product_count_m,
    -- Number of array tiles across a product.
    product_count_n,
    -- Depth of a slice of the reduction.
    slice_k,
    -- Number of slabs of the reduction of a block.
    slab_count,
    -- Depth of a slab.
    slice_k / NULLIF(slab_count, 0e0) AS slab_k,
    -- Size of the results that stay in the tile memory between slabs. [byte]
    kept_result_byte,
    -- True if the stream buffers keep a slab of an array tile's rows while columns stream through.
    COALESCE(
        element_byte * (array_rows * slice_k / NULLIF(slab_count, 0e0) + stages * array_columns) <= stream_memory_byte, FALSE
    ) AS holds_rows,
    -- Size of the block in the tile memory. [byte]
    stages * element_byte * (tile_m + tile_n) * tile_k + kept_result_byte AS block_byte,
    -- Size of one cycle's operands of the array in the stream buffers. [byte]
    stages * element_byte * (array_rows + array_columns) AS step_byte,
    -- Innermost memory that is too small: `stream` or `tile`; null if the block fits in both or their sizes are unknown.
    CASE
        WHEN stages * element_byte * (array_rows + array_columns) > stream_memory_byte THEN 'stream'
        WHEN tile_k < 1e0 OR stages * element_byte * (tile_m + tile_n) * tile_k + kept_result_byte > tile_memory_byte THEN 'tile'
    END AS overflowing_level
FROM kept_blocks
