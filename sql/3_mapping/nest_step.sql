-- Steps of the arrays in every loop nest. Inner tiles go to arrays in turn. Where operands stay, partial results leave the array after
-- each fold, so that arrays share the depth of tiles that are fewer than they, as `tile_stationary` deals it; where results stay, an
-- array takes all of the depth or of a slice of it, as `tile_wavefront` does.
-- Grain: loop_nest_id
CREATE VIEW nest_step AS
WITH dealt_nests AS (
    SELECT
        *,
        -- Inner tiles that follow one upon another on the busiest array.
        CASE
            WHEN dataflow IN ('weight_stationary', 'input_stationary')
                THEN CEIL(gemm_count * trips_m * trips_n * trips_k / NULLIF(array_count, 0e0))
            ELSE CEIL(gemm_count * trips_m * trips_n * split_k / NULLIF(array_count, 0e0)) * CEIL(trips_k / NULLIF(split_k, 0e0))
        END AS rounds,
        -- Results of a slice that stay through all of its depth.
        dataflow IN ('output_stationary', 'wavefront') AND outer_kept = 'output' AND inner_kept = 'output' AS leaves_once,
        CEIL(k / NULLIF(split_k, 0e0)) AS slice_k
    FROM nest_hop
)

SELECT
    * EXCLUDE (rounds, leaves_once, slice_k),
    -- Folds that follow one upon another on the busiest array.
    rounds * row_folds * column_folds AS folds,
    -- Steps of the busiest array, one fold streaming while the next is loaded. Results that stay in the array through all of the depth
    -- leave it once, not after each tile of the depth; the last of a depth below the array's rows do not wait for others.
    CASE
        WHEN leaves_once
            THEN rounds / NULLIF(CEIL(trips_k / NULLIF(split_k, 0e0)), 0e0) * row_folds * column_folds * GREATEST(slice_k, matrix_array_rows)
                - GREATEST(0e0, matrix_array_rows - slice_k)
        ELSE rounds * row_folds * column_folds * GREATEST(streamed_steps, matrix_array_rows)
    END + matrix_array_rows + matrix_array_columns - 2e0 AS cycles
FROM dealt_nests
