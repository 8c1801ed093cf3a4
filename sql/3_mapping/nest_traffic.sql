-- Bytes that cross every border of every loop nest. An operand is loaded once a trip of all loops around its tile, but for the
-- innermost ones that do not change it: those that `kept` names, and those around them where the loops between run once
-- (Timeloop, Parashar et al. 2019). Partial results are as wide as the accumulator and come back for every further visit. In a
-- row-stationary array images slide through and partial results leave with every pass: weights alone can stay. Where operands stay,
-- arrays share the depth of tiles that are fewer than they, and partial results meet on their way (`met_columns`); where results
-- stay, they do where the depth is split. Without a memory beside it an array draws its operands for every pass.
-- Grain: loop_nest_id
CREATE VIEW nest_traffic AS
WITH reused_nests AS (
    SELECT
        *,
        -- Visits of a tile of each operand around the outer border.
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
        -- Passes of an operand through the array: as many as the folds along what it does not depend on.
        trips_n * CASE WHEN dataflow = 'input_stationary' THEN 1e0 ELSE column_folds END AS input_passes,
        trips_m * CASE
            WHEN dataflow = 'weight_stationary' THEN 1e0
            WHEN dataflow = 'input_stationary' THEN column_folds
            ELSE row_folds
        END AS weight_passes,
        trips_k * CASE WHEN dataflow IN ('output_stationary', 'wavefront') THEN 1e0 ELSE row_folds END AS output_passes,
        CAST(m AS DOUBLE) * n * k * gemm_count AS macs,
        CASE WHEN draws_from_outer THEN input_passes ELSE inner_input_visits END AS input_arrivals,
        CASE WHEN draws_from_outer THEN weight_passes ELSE inner_weight_visits END AS weight_arrivals,
        -- Further visits of partial results, half of one where they only come.
        GREATEST(
            inner_output_visits - 1e0,
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
        outer_output_byte, input_passes, weight_passes, output_passes,
        inner_input_byte, inner_weight_byte, inner_output_byte, macs, trips_m, trips_n, trips_k
    ),
    -- Multiply-accumulates of all its products.
    macs,
    -- Inner tiles along the rows.
    trips_m,
    -- Inner tiles along the columns.
    trips_n,
    -- Inner tiles along the depth.
    trips_k,
    -- Bytes of input into the memory that all units share, as often as they arrive. [byte]
    outer_input_byte,
    -- Bytes of weights into it. [byte]
    outer_weight_byte,
    -- Bytes of results out of it, and of partial results out and in. [byte]
    outer_output_byte,
    -- Bytes into and out of the memory that all units share, whether they come from main memory or lie there. [byte]
    outer_input_byte + outer_weight_byte + outer_output_byte AS outer_byte,
    -- Times that a tile of input arrives in a memory beside an array, or passes one.
    input_arrivals AS inner_input_visits,
    -- Times that a tile of weights does.
    weight_arrivals AS inner_weight_visits,
    -- Bytes of input into the memories beside the arrays, as often as they arrive. [byte]
    inner_input_byte,
    -- Bytes of weights into them. [byte]
    inner_weight_byte,
    -- Bytes of results out of them, and of partial results out and in. [byte]
    inner_output_byte,
    -- Bytes into and out of the memories beside the arrays. [byte]
    inner_input_byte + inner_weight_byte + inner_output_byte AS inner_byte,
    -- Bytes between those and the arrays; where rows stay each product reads both operands and a partial result and writes that. [byte]
    CASE
        WHEN dataflow = 'row_stationary' THEN macs * 2e0 * (element_byte + accumulator_byte)
        ELSE gemm_count * (
            element_byte * (CAST(m AS DOUBLE) * k * input_passes + CAST(k AS DOUBLE) * n * weight_passes)
            + CAST(m AS DOUBLE) * n * (element_byte + 2e0 * accumulator_byte * (output_passes - 1e0))
        )
    END AS array_byte,
    -- Bytes that elements of the arrays hand to their neighbours, or the border to elements: of each product what streams, both
    -- operands or one of them and a partial result. Where rows stay an element uses a pixel for the filters it holds and all
    -- windows of its row, a weight along a row of results, and hands on what it has summed. [byte]
    CASE
        WHEN dataflow = 'row_stationary' THEN macs * (
            element_byte * (
                ((side - 1e0) * stride + window_side) / NULLIF(side * window_side * element_n, 0e0)
                + 1e0 / NULLIF(side * strip_images, 0e0)
            )
            + accumulator_byte / NULLIF(CAST(element_k AS DOUBLE), 0e0)
        )
        WHEN dataflow IN ('output_stationary', 'wavefront') THEN macs * 2e0 * element_byte
        ELSE macs * (element_byte + accumulator_byte)
    END AS element_hop_byte,
    -- What the outer tile takes: both operands twice, so that the next is loaded meanwhile, and results. [byte]
    2e0 * element_byte * (CAST(outer_m AS DOUBLE) * outer_k * outer_halo_fraction + CAST(outer_k AS DOUBLE) * outer_n)
    + accumulator_byte * outer_m * outer_n AS outer_tile_byte,
    -- What the inner tile takes, results that stay in one array left out; where rows stay the weights, pixels and partial results of every element. [byte]
    CASE
        WHEN dataflow = 'row_stationary' THEN matrix_array_rows * matrix_array_columns * (
            element_byte * (CAST(element_n AS DOUBLE) * element_k + element_k) + accumulator_byte * element_n
        )
        ELSE 2e0 * element_byte * (CAST(inner_m AS DOUBLE) * inner_k * inner_halo_fraction + CAST(inner_k AS DOUBLE) * inner_n)
            + CASE
                WHEN dataflow IN ('output_stationary', 'wavefront') AND row_folds * column_folds = 1e0 THEN 0e0
                ELSE accumulator_byte * inner_m * inner_n
            END
    END AS inner_tile_byte
FROM streamed_nests
