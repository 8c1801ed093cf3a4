-- Every row of `tiling_strategy` on every part that it holds on (`part_strategy`), with the part's rates, and the level that cannot hold it: one
-- stage of both operands beside the units, with the results where those are not in registers. A memory that all units share
-- takes as many tiles as it holds, however many units there are. What is fitted to its level, or depends on the product
-- (`tile_block`), is no question here.
-- Grain: hardware, arithmetic, compute_precision, candidate
CREATE VIEW offered_tile AS
WITH listed_tiles AS (
    SELECT
        r.*,
        s.candidate,
        s.strategy,
        -- Where results stay, what one array does is the same for a wavefront and without one.
        CASE WHEN s.family = '*' AND s.dataflow = 'output_stationary' THEN 'wavefront' ELSE s.dataflow END AS dataflow,
        s.family = '*' AS is_systolic,
        CAST(s.tile_m AS DOUBLE) AS listed_m,
        CAST(s.tile_n AS DOUBLE) AS listed_n,
        CAST(s.tile_k AS DOUBLE) AS listed_k,
        CAST(s.from_m AS DOUBLE) AS from_m,
        CAST(s.below_m AS DOUBLE) AS below_m,
        CAST(s.divisor AS DOUBLE) AS divisor,
        CAST(s.split_k AS DOUBLE) AS split_k,
        CAST(COALESCE(s.step_k, s.tile_k) AS DOUBLE) AS step_k,
        CAST(s.stages AS DOUBLE) AS stages,
        s.fill_k,
        s.fill_clock,
        s.exposed_fill,
        s.latency_clock,
        s.wave_quantization_fraction,
        s.efficiency_fraction,
        s.fed_macs,
        s.matrix_instruction IS NOT NULL AS has_results_in_registers,
        -- One stage of both operands, and the results where those are not in registers.
        CASE
            WHEN s.dataflow = 'output_stationary' AND s.family <> '*' AND s.tile_m > 0
                THEN r.element_byte * COALESCE(s.step_k, s.tile_k) * (s.tile_m + s.tile_n)
                    + CASE WHEN s.matrix_instruction IS NOT NULL THEN 0e0 ELSE 4e0 * s.tile_m * s.tile_n END
        END AS listed_byte
    FROM arithmetic_rate AS r
    INNER JOIN part_strategy AS s ON s.hardware = r.hardware
    WHERE (s.dataflow <> 'direct' OR r.vector_ops_per_s IS NOT NULL)
        AND (s.dataflow <> 'query_block' OR r.cuts_queries)
)

SELECT
    * EXCLUDE (has_results_in_registers, listed_byte, is_systolic, listed_m, listed_n, listed_k),
    -- True where operands move through an array: one of another element type leaves the product to the vector units.
    is_systolic,
    -- Rows of the tile as listed; 0 where it is fitted.
    listed_m,
    -- Columns of the tile as listed; 0 where fitted.
    listed_n,
    -- Depth of one stage as listed; 0 where fitted.
    listed_k,
    -- True where an array does not know the element type: it leaves the product to the vector units, in one way.
    is_systolic AND matrix_ops_per_s IS NULL AS is_left_to_vector,
    -- True on matrix units (tensor cores, AMX, MXU, PE array), false on vector units.
    dataflow <> 'direct' AND matrix_ops_per_s IS NOT NULL AS is_matrix,
    -- Rows of a product that the tile memory holds beside two arrays of weights, or columns beside two of inputs; null where none
    -- are held or nothing is known.
    CASE
        WHEN dataflow IN ('weight_stationary', 'input_stationary')
            THEN FLOOR(
                (tile_memory_byte - stages * element_byte * matrix_array_rows * matrix_array_columns)
                / NULLIF(stages * element_byte * matrix_array_rows + 4e0 * matrix_array_columns, 0e0)
            )
    END AS held_rows,
    -- Level that cannot hold the tile: `register`, `tile` or the `array` of weights or inputs; null where all do or nothing is known of them.
    CASE
        WHEN dataflow = 'weight_stationary' AND (listed_n > matrix_array_columns OR listed_k > matrix_array_rows) THEN 'array'
        WHEN dataflow = 'input_stationary' AND (listed_m > matrix_array_columns OR listed_k > matrix_array_rows) THEN 'array'
        WHEN held_rows < 1e0 AND matrix_ops_per_s IS NOT NULL THEN 'tile'
        WHEN dataflow <> 'output_stationary' OR listed_m = 0e0 THEN NULL
        WHEN has_results_in_registers AND 4e0 * listed_m * listed_n > register_byte THEN 'register'
        WHEN listed_byte > COALESCE(tile_memory_pool_byte, tile_memory_byte) THEN 'tile'
    END AS overflowing_level,
    -- Units that hold one at a time of a tile memory that all share; null where each has its own.
    FLOOR(tile_memory_pool_byte / NULLIF(listed_byte, 0e0)) AS pooled_unit_count
FROM listed_tiles
WHERE NOT (is_systolic AND matrix_ops_per_s IS NULL AND divisor > 1e0)
