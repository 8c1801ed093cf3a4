-- Every row of `tiling_strategy` on every part that can use it (`part_strategy`), with the part's rates and the memory that is too
-- small for the tile. A tile needs room for one stage of both operands, and for results that are not in registers. A memory shared
-- by all units may contain fewer tiles than there are units. Tiles whose size charz computes are checked later (`tile_block`).
-- Grain: hardware, arithmetic, compute_precision, candidate
CREATE VIEW offered_tile AS
WITH listed_tiles AS (
    SELECT
        r.*,
        s.candidate,
        s.strategy,
        -- An array with stationary results behaves the same under both dataflows.
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
        -- Size of one stage of both operands, and of results that are not in registers.
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
    -- True if operands move through an array. Arrays for other element types leave the product to the vector units.
    is_systolic,
    -- Rows of the tile as listed; 0 if charz computes the size.
    listed_m,
    -- Columns of the tile as listed; 0 if charz computes the size.
    listed_n,
    -- Depth of one stage as listed; 0 if charz computes the size.
    listed_k,
    -- True if the array does not compute the element type: the vector units run the product, as one candidate.
    is_systolic AND matrix_ops_per_s IS NULL AS is_left_to_vector,
    -- True for matrix units (tensor cores, AMX, MXU, PE array), false for vector units.
    dataflow <> 'direct' AND matrix_ops_per_s IS NOT NULL AS is_matrix,
    -- Number of a product's rows that fit in the tile memory next to two arrays of weights, or of columns next to two arrays of
    -- inputs, and whose partial results fit in the accumulators, or in the tile memory without accumulators; null for other
    -- dataflows or unknown sizes.
    CASE
        WHEN dataflow IN ('weight_stationary', 'input_stationary')
            THEN LEAST(
                CASE WHEN accumulator_rows > 0e0 THEN accumulator_rows END,
                FLOOR(
                    (tile_memory_byte - stages * element_byte * matrix_array_rows * matrix_array_columns)
                    / NULLIF(
                        stages * element_byte * matrix_array_rows
                        + CASE WHEN accumulator_rows > 0e0 THEN 0e0 ELSE 4e0 * matrix_array_columns END, 0e0
                    )
                )
            )
    END AS held_rows,
    -- Memory that is too small for the tile: `register`, `tile`, or `array` for stationary weights or inputs; null if the tile fits
    -- or sizes are unknown.
    CASE
        WHEN dataflow = 'weight_stationary' AND (listed_n > matrix_array_columns OR listed_k > matrix_array_rows) THEN 'array'
        WHEN dataflow = 'input_stationary' AND (listed_m > matrix_array_columns OR listed_k > matrix_array_rows) THEN 'array'
        WHEN held_rows < 1e0 AND matrix_ops_per_s IS NOT NULL THEN 'tile'
        WHEN dataflow <> 'output_stationary' OR listed_m = 0e0 THEN NULL
        WHEN has_results_in_registers AND 4e0 * listed_m * listed_n > register_byte THEN 'register'
        WHEN listed_byte > COALESCE(tile_memory_pool_byte, tile_memory_byte) THEN 'tile'
    END AS overflowing_level,
    -- Number of tiles that fit in a tile memory shared by all units; null where each unit has a separate tile memory.
    FLOOR(tile_memory_pool_byte / NULLIF(listed_byte, 0e0)) AS pooled_unit_count
FROM listed_tiles
WHERE NOT (is_systolic AND matrix_ops_per_s IS NULL AND divisor > 1e0)
