-- Bytes that cross every border of every loop nest. An operand is loaded once per trip of all loops around its tile, except the
-- innermost loops that do not change it: those of `kept`, and those around them if the loops between run once (Timeloop, Parashar
-- et al. 2019). Partial results have the width of the accumulator and return for every further visit, unless they stay in the cells
-- of an output-stationary array or in the accumulators of an array with stationary weights or inputs (`tile_stationary`).
-- Grain: loop_nest_id
CREATE VIEW nest_traffic AS
WITH reused_nests AS (
    SELECT
        *,
        -- True if the results of the whole inner tile stay in the cells or accumulators of an array.
        CASE
            WHEN dataflow IN ('output_stationary', 'wavefront') THEN row_folds * column_folds = 1e0
            WHEN dataflow IN ('weight_stationary', 'input_stationary') THEN column_folds * streamed_steps <= accumulator_rows
            ELSE FALSE
        END AS keeps_results,
        -- Visits of each operand's tiles across the borders; only weights can stay in a row-stationary array.
        CASE WHEN outer_kept = 'input' THEN 1e0 ELSE outer_trips_n END AS outer_input_visits,
        CASE WHEN outer_kept = 'weight' THEN 1e0 ELSE outer_trips_m END AS outer_weight_visits,
        CASE WHEN outer_kept = 'output' THEN 1e0 ELSE outer_trips_k END AS outer_output_visits,
        CASE WHEN inner_kept = 'input' AND dataflow <> 'row_stationary' THEN 1e0 ELSE inner_trips_n END AS own_input_visits,
        CASE WHEN inner_kept = 'weight' THEN 1e0 ELSE inner_trips_m END AS own_weight_visits,
        CASE WHEN inner_kept = 'output' AND dataflow <> 'row_stationary' THEN 1e0 ELSE inner_trips_k END AS own_output_visits
    FROM nest_trip
),

visited_nests AS (
    SELECT
        *,
        own_input_visits * CASE
            WHEN inner_trips_m = 1e0 AND inner_trips_k = 1e0 AND own_input_visits = 1e0 AND dataflow <> 'row_stationary'
                THEN outer_input_visits
            ELSE outer_trips_n
        END AS inner_input_visits,
        own_weight_visits * CASE
            WHEN inner_trips_n = 1e0 AND inner_trips_k = 1e0 AND own_weight_visits = 1e0 THEN outer_weight_visits ELSE outer_trips_m
        END AS inner_weight_visits,
        own_output_visits * CASE
            WHEN inner_trips_m = 1e0 AND inner_trips_n = 1e0 AND own_output_visits = 1e0 AND dataflow <> 'row_stationary'
                THEN outer_output_visits
            ELSE outer_trips_k
        END AS inner_output_visits,
        outer_trips_m * inner_trips_m AS trips_m,
        outer_trips_n * inner_trips_n AS trips_n,
        outer_trips_k * inner_trips_k AS trips_k
    FROM reused_nests
),

streamed_nests AS (
    SELECT
        *,
        -- Passes of an operand through the array, one per fold of the dimensions that it does not depend on.
        trips_n * CASE WHEN dataflow = 'input_stationary' THEN 1e0 ELSE column_folds END AS input_passes,
        trips_m * CASE
            WHEN dataflow = 'weight_stationary' THEN 1e0
            WHEN dataflow = 'input_stationary' THEN column_folds
            ELSE row_folds
        END AS weight_passes,
        CASE
            WHEN keeps_results THEN inner_output_visits
            WHEN dataflow IN ('output_stationary', 'wavefront') THEN trips_k
            -- Results of one column fold stay in the accumulators for the depth of an inner tile.
            WHEN dataflow IN ('weight_stationary', 'input_stationary') AND streamed_steps <= accumulator_rows THEN trips_k
            ELSE trips_k * row_folds
        END AS output_passes,
        CAST(m AS DOUBLE) * n * k * gemm_count AS macs,
        CASE WHEN draws_from_outer THEN input_passes ELSE inner_input_visits END AS input_arrivals,
        CASE WHEN draws_from_outer THEN weight_passes ELSE inner_weight_visits END AS weight_arrivals,
        -- Further visits of partial results, half a visit if they only arrive; arrays that share a depth add partial results on
        -- arrival (`met_columns`).
        GREATEST(
            CASE WHEN draws_from_outer THEN output_passes ELSE inner_output_visits END - 1e0,
            CASE
                WHEN dataflow IN ('weight_stationary', 'input_stationary')
                    THEN met_columns(CAST(gemm_count AS DOUBLE) * trips_m * trips_n, trips_k, array_count)
                        / NULLIF(gemm_count * trips_m * trips_n, 0e0)
                WHEN dataflow IN ('output_stationary', 'wavefront') THEN (split_k - 1e0) / 2e0
                ELSE 0e0
            END
        ) AS inner_output_returns,
        gemm_count * element_byte * CAST(m AS DOUBLE) * k * inner_halo_fraction * input_arrivals AS inner_input_byte,
        gemm_count * element_byte * CAST(k AS DOUBLE) * n * weight_arrivals AS inner_weight_byte,
        gemm_count * CAST(m AS DOUBLE) * n * (element_byte + 2e0 * accumulator_byte * inner_output_returns) AS inner_output_byte,
        gemm_count * element_byte * CAST(m AS DOUBLE) * k * outer_halo_fraction * outer_input_visits AS outer_input_byte,
        gemm_count * element_byte * CAST(k AS DOUBLE) * n * outer_weight_visits AS outer_weight_byte,
        gemm_count * CAST(m AS DOUBLE) * n * (element_byte + 2e0 * accumulator_byte * (outer_output_visits - 1e0)) AS outer_output_byte
    FROM visited_nests
)

SELECT
    * EXCLUDE (
        outer_input_visits, outer_weight_visits, outer_output_visits, own_input_visits, own_weight_visits, own_output_visits,
        inner_input_visits, inner_weight_visits, inner_output_visits, input_arrivals, weight_arrivals, inner_output_returns, outer_input_byte, outer_weight_byte,
        outer_output_byte, input_passes, weight_passes, output_passes, keeps_results,
        inner_input_byte, inner_weight_byte, inner_output_byte, macs, trips_m, trips_n, trips_k
    ),
    -- Number of multiply-accumulates of all products of the nest.
    macs,
    -- Number of inner tiles along the rows.
    trips_m,
    -- Number of inner tiles along the columns.
    trips_n,
    -- Number of inner tiles along the depth.
    trips_k,
    -- Bytes of input into the memory shared by all units, counted at every arrival. [byte]
    outer_input_byte,
    -- Bytes of weights into the memory shared by all units, counted at every arrival. [byte]
    outer_weight_byte,
    -- Bytes of results out of the memory shared by all units, and of partial results out and in. [byte]
    outer_output_byte,
    -- Bytes into and out of the memory shared by all units, from main memory or resident. [byte]
    outer_input_byte + outer_weight_byte + outer_output_byte AS outer_byte,
    -- Number of arrivals of a tile of input at an array's own memory, or of passes through an array without one.
    input_arrivals AS inner_input_visits,
    -- Number of arrivals of a tile of weights, counted like `inner_input_visits`.
    weight_arrivals AS inner_weight_visits,
    -- Bytes of input into the arrays' own memories, counted at every arrival. [byte]
    inner_input_byte,
    -- Bytes of weights into the arrays' own memories, counted at every arrival. [byte]
    inner_weight_byte,
    -- Bytes of results out of the arrays' own memories, and of partial results out and in. [byte]
    inner_output_byte,
    -- Bytes into and out of the arrays' own memories. [byte]
    inner_input_byte + inner_weight_byte + inner_output_byte AS inner_byte,
    -- Bytes between the arrays' own memories and the arrays. In a row-stationary array each product reads both operands and a
    -- partial result and writes the result. [byte]
    CASE
        WHEN dataflow = 'row_stationary' THEN macs * 2e0 * (element_byte + accumulator_byte)
        ELSE gemm_count * (
            element_byte * (CAST(m AS DOUBLE) * k * input_passes + CAST(k AS DOUBLE) * n * weight_passes)
            + CAST(m AS DOUBLE) * n * (element_byte + 2e0 * accumulator_byte * (output_passes - 1e0))
        )
    END AS array_byte,
    -- Memory of the outer tile: both operands double-buffered, and the results. [byte]
    2e0 * element_byte * (CAST(outer_m AS DOUBLE) * outer_k * outer_halo_fraction + CAST(outer_k AS DOUBLE) * outer_n)
    + accumulator_byte * outer_m * outer_n AS outer_tile_byte,
    -- Memory of the inner tile, without results that stay in the cells or accumulators of an array; in a row-stationary array the weights, pixels and partial
    -- results of every element. [byte]
    CASE
        WHEN dataflow = 'row_stationary' THEN matrix_array_rows * matrix_array_columns * (
            element_byte * (CAST(element_n AS DOUBLE) * element_k + element_k) + accumulator_byte * element_n
        )
        ELSE 2e0 * element_byte * (CAST(inner_m AS DOUBLE) * inner_k * inner_halo_fraction + CAST(inner_k AS DOUBLE) * inner_n)
            + CASE WHEN keeps_results THEN 0e0 ELSE accumulator_byte * inner_m * inner_n END
    END AS inner_tile_byte
FROM streamed_nests
