-- Cycles of the arrays in every loop nest, which process inner tiles in turn. Weight- and input-stationary arrays write partial
-- results after each fold, so that arrays without a separate tile share the depth (as in `tile_stationary`). An output-stationary
-- array computes the whole depth, or a slice of it (as in `tile_wavefront`).
-- Grain: loop_nest_id
CREATE VIEW nest_step AS
WITH dealt_nests AS (
    SELECT
        *,
        -- Number of inner tiles that the busiest array processes one after another.
        CASE
            WHEN dataflow IN ('weight_stationary', 'input_stationary')
                THEN CEIL(gemm_count * trips_m * trips_n * trips_k / NULLIF(array_count, 0e0))
            ELSE CEIL(gemm_count * trips_m * trips_n * split_k / NULLIF(array_count, 0e0)) * CEIL(trips_k / NULLIF(split_k, 0e0))
        END AS rounds,
        -- True if the results of a slice stay in the array through the whole depth.
        dataflow IN ('output_stationary', 'wavefront') AND outer_kept = 'output' AND inner_kept = 'output' AS leaves_once,
        CEIL(k / NULLIF(split_k, 0e0)) AS slice_k
    FROM nest_hop
)

SELECT
    * EXCLUDE (rounds, leaves_once, slice_k),
    -- Number of folds that the busiest array processes one after another.
    rounds * row_folds * column_folds AS folds,
    -- Number of cycles of the busiest array, which streams one fold while it loads the next. Results that stay in the array through
    -- the whole depth leave once, not after each tile of the depth; the last fold takes only its depth, even if the depth is below
    -- the array's rows.
    CASE
        WHEN leaves_once
            THEN rounds / NULLIF(CEIL(trips_k / NULLIF(split_k, 0e0)), 0e0) * row_folds * column_folds * GREATEST(slice_k, matrix_array_rows)
                - GREATEST(0e0, matrix_array_rows - slice_k)
        ELSE rounds * row_folds * column_folds * GREATEST(streamed_steps, matrix_array_rows)
    END + matrix_array_rows + matrix_array_columns - 2e0 AS cycles
FROM dealt_nests
