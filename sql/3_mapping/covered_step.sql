-- Every step of every shape on a part with each of its candidate tiles, and the rows, columns and depth that the tiles cover,
-- padding included.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW covered_step AS
WITH tiled_steps AS (
    SELECT * EXCLUDE (fetch_byte) FROM tile_step
    UNION ALL
    SELECT * FROM vector_step
),

sized_steps AS (
    SELECT
        t.*,
        COALESCE(t.n, 1e0) AS result_columns,
        LEAST(1e0, COALESCE(t.flops / NULLIF(t.peak_ops_per_s * t.ideal_s, 0e0), 1e0)) AS utilization_fraction,
        -- A depthwise convolution in one column of an array is neither tiled nor distributed in blocks.
        CASE WHEN NOT t.is_product AND t.is_matrix THEN 'column' ELSE COALESCE(g.dataflow, 'direct') END AS dataflow,
        COALESCE(t.block_threads, g.block_threads) AS lane_threads,
        g.matrix_array_rows AS array_rows,
        g.matrix_array_columns AS array_columns,
        g.listed_m,
        g.split_k,
        g.step_k,
        COALESCE(g.wave_quantization_fraction, 1e0) AS quantization,
        CASE
            WHEN g.dataflow = 'wavefront' THEN COALESCE(LEAST(g.filled_fraction, g.fed_array_hz / NULLIF(g.array_clock_hz, 0e0)), 1e0)
            WHEN g.dataflow IN ('weight_stationary', 'input_stationary', 'direct') THEN g.filled_fraction
            WHEN g.dataflow = 'query_block' AND NOT t.is_product THEN 1e0
            ELSE COALESCE(g.sustained_fraction, 1e0)
        END AS fed_fraction
    FROM tiled_steps AS t
    LEFT JOIN arithmetic_tile AS g
        ON g.hardware = t.hardware AND g.arithmetic = t.arithmetic AND g.compute_precision = t.compute_precision
        AND g.candidate = t.candidate
)

SELECT
    * EXCLUDE (
        dataflow, arithmetic, lane_threads, block_threads, array_rows, array_columns, listed_m, split_k, step_k, quantization,
        fed_fraction, result_columns, utilization_fraction
    ),
    -- Number of columns of a product's results: channels, or keys in attention scores; 1 for other steps.
    result_columns,
    -- Share of the peak that remains after losses from tile shapes and wave quantization.
    utilization_fraction,
    -- Dataflow of the tiles (`part_tile`), or `column` for a depthwise convolution in one column of an array.
    dataflow,
    -- Number of threads of a block.
    lane_threads AS block_threads,
    -- Number of array rows loaded with the stationary operand, if the load takes longer than the stream and costs more than a
    -- partly empty last tile; else null.
    CASE
        WHEN dataflow = 'weight_stationary' AND array_rows * m > CEIL(m / NULLIF(tile_m, 0e0)) * tile_m * tile_m THEN array_rows
        WHEN dataflow = 'input_stationary' AND array_rows * n > CEIL(n / NULLIF(tile_n, 0e0)) * tile_n * tile_n THEN array_rows
    END AS loaded_rows,
    -- Share of the units' rate at which the tile memory supplies operands to tiles of this size.
    fed_fraction,
    -- Number of rows that the tiles cover, at least the rows of an array; in a block of array tiles, only the array tiles that
    -- contain part of the product count.
    CASE dataflow
        WHEN 'wavefront'
            THEN array_rows * (
                FLOOR(m / NULLIF(tile_m, 0e0)) * CEIL(tile_m / NULLIF(array_rows, 0e0))
                + CEIL(m % NULLIF(tile_m, 0e0) / NULLIF(array_rows, 0e0))
            )
        WHEN 'weight_stationary' THEN CEIL(m / NULLIF(tile_m, 0e0)) * GREATEST(tile_m, array_rows)
        WHEN 'input_stationary' THEN CEIL(m / NULLIF(tile_m, 0e0)) * array_columns
        WHEN 'query_block' THEN m
        ELSE CEIL(m / NULLIF(tile_m, 0e0)) * tile_m
    END AS covered_rows,
    -- Number of columns that the tiles cover.
    CASE dataflow
        WHEN 'wavefront'
            THEN array_columns * (
                FLOOR(n / NULLIF(tile_n, 0e0)) * CEIL(tile_n / NULLIF(array_columns, 0e0))
                + CEIL(n % NULLIF(tile_n, 0e0) / NULLIF(array_columns, 0e0))
            )
        WHEN 'weight_stationary' THEN CEIL(n / NULLIF(tile_n, 0e0)) * array_columns
        WHEN 'input_stationary' THEN CEIL(n / NULLIF(tile_n, 0e0)) * GREATEST(tile_n, array_rows)
        ELSE CEIL(n / NULLIF(tile_n, 0e0)) * tile_n
    END AS covered_columns,
    -- Depth that the tiles cover.
    CASE dataflow
        WHEN 'listed' THEN CEIL(k / NULLIF(step_k * split_k, 0e0)) * step_k * split_k
        WHEN 'weight_stationary' THEN CEIL(k / NULLIF(tile_k, 0e0)) * array_rows
        WHEN 'input_stationary' THEN CEIL(k / NULLIF(tile_k, 0e0)) * array_rows
        WHEN 'wavefront' THEN CEIL(k / NULLIF(split_k, 0e0)) * split_k
        ELSE k
    END AS covered_depth,
    -- Ratio of tiles to tile slots in all waves; below 1 if some units have no tile or the last wave is partly empty.
    CASE
        WHEN dataflow = 'column' THEN 1e0
        -- Number of queries of the busiest thread: whole products, then blocks of one product.
        WHEN dataflow = 'query_block'
            THEN query_heads * query_count / NULLIF(
                tile_unit_count * (
                    FLOOR(waves / NULLIF(CEIL(query_count / NULLIF(listed_m, 0e0)), 0e0)) * query_count
                    + LEAST(waves % NULLIF(CEIL(query_count / NULLIF(listed_m, 0e0)), 0e0) * listed_m, query_count)
                ), 0e0
            )
        ELSE tile_count / NULLIF(
            tile_unit_count * (
                quantization * waves + (1e0 - quantization) * GREATEST(1e0, tile_count / NULLIF(tile_unit_count, 0e0))
            ), 0e0
        )
    END AS busy_fraction
FROM sized_steps
