-- Query blocks of PyTorch's fused attention on processors: threads take neighbouring blocks of queries, and reorder keys and values
-- again for every block (FlashAttentionKernel.cpp). The unit with the most rows takes longest: its rows are whole products, then
-- part of one. Other steps are divided in the same way.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_query_block AS
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
        s.is_product AND g.is_matrix AS is_matrix,
        CASE WHEN s.is_product THEN g.executed_precision ELSE g.vector_precision END AS executed_precision,
        g.strategy,
        g.tile_unit_count,
        CASE WHEN s.is_product THEN g.peak_ops_per_s ELSE g.vector_ops_per_s END AS peak_ops_per_s,
        CASE WHEN s.is_product THEN g.peak_ops_per_s ELSE g.vector_ops_per_s END / NULLIF(g.tile_unit_count, 0e0)
            AS unit_ops_per_s,
        CASE WHEN s.is_product THEN g.op_j ELSE g.vector_op_j END AS op_j,
        s.flops,
        s.m,
        s.n,
        s.k,
        s.gemm_count,
        s.macs, s.threads, s.taps, s.image, s.query_count, s.query_heads, s.compute_precision,
        g.element_byte,
        g.stages,
        g.tile_memory_byte_per_s,
        g.lanes,
        g.fill_k,
        g.sustained_fraction,
        g.listed_m AS query_block,
        LEAST(g.listed_m, s.query_count) AS tile_m,
        CEIL(LEAST(g.listed_n, s.n) / NULLIF(g.lanes, 0e0)) * g.lanes AS tile_n,
        LEAST(g.listed_k, s.k) AS tile_k,
        CEIL(s.query_count / NULLIF(g.listed_m, 0e0)) AS product_blocks
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision AND g.dataflow = 'query_block'
    WHERE s.query_count >= g.from_m AND COALESCE(s.query_count < g.below_m, TRUE)
),

waved_blocks AS (
    SELECT
        *,
        query_heads * product_blocks AS tile_count,
        CEIL(query_heads * product_blocks / NULLIF(tile_unit_count, 0e0)) AS waves
    FROM counted_blocks
),

-- Number of rows of the unit with the most rows.
shared_blocks AS (
    SELECT
        *,
        FLOOR(waves / NULLIF(product_blocks, 0e0)) * query_count
        + LEAST(waves % NULLIF(product_blocks, 0e0) * query_block, query_count) AS block_rows
    FROM waved_blocks
)

SELECT
    * EXCLUDE (
        tile_memory_byte_per_s, lanes, fill_k, sustained_fraction, query_block, tile_m, tile_n,
        tile_k, product_blocks, tile_count, waves, block_rows
    ),
    -- Rows of the tile; null without a tile.
    CASE WHEN is_product THEN tile_m END AS tile_m,
    -- Columns of the tile; null without a tile.
    CASE WHEN is_product THEN tile_n END AS tile_n,
    -- Depth of the tile; null without a tile.
    CASE WHEN is_product THEN tile_k END AS tile_k,
    -- Number of tiles, or of blocks of threads.
    tile_count,
    -- Number of waves until all tiles are done.
    waves,
    -- Share of the tile's time during which the pipeline is full.
    CASE WHEN is_product THEN block_rows / NULLIF(block_rows + waves * fill_k, 0e0) ELSE 1e0 END AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    1e0 AS unit_tile_count,
    -- Size of the results that the tile keeps next to its unit; null if all results stay there in single precision. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    tile_memory_byte_per_s AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory. [byte]
    0e0 AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic; 0 if stream buffers are not modelled. [byte]
    0e0 AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    CAST(NULL AS DOUBLE) AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    CASE
        WHEN is_product
            THEN 2e0 * (block_rows + waves * fill_k) * CEIL(n / NULLIF(lanes, 0e0)) * lanes * k
            / NULLIF(unit_ops_per_s * sustained_fraction, 0e0)
        ELSE block_rows * flops / NULLIF(query_heads * query_count * unit_ops_per_s, 0e0)
    END AS tiled_s
FROM shared_blocks
