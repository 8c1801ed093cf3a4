-- Every step of every shape on a part with each of its candidate tiles, and the share of the peak that remains after each loss. The
-- product of the shares is the utilization; the smallest is the main loss.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW placed_step AS
WITH shared_losses AS (
    SELECT
        *,
        CASE WHEN tile_m IS NULL THEN 1e0 ELSE LEAST(1e0, m / NULLIF(covered_rows, 0e0)) END AS row_fraction,
        CASE WHEN tile_n IS NULL THEN 1e0 ELSE LEAST(1e0, n / NULLIF(covered_columns, 0e0)) END AS column_fraction,
        CASE WHEN tile_k IS NULL THEN 1e0 ELSE LEAST(1e0, k / NULLIF(covered_depth, 0e0)) END AS depth_fraction,
        -- A unit is busy with fewer threads than a block.
        CASE
            WHEN dataflow <> 'direct' OR threads <= block_threads THEN 1e0
            ELSE threads / NULLIF(CEIL(threads / NULLIF(block_threads, 0e0)) * block_threads, 0e0)
        END AS lane_fraction
    FROM covered_step
),

named_losses AS (
    SELECT
        *,
        LEAST(
            1e0,
            utilization_fraction / NULLIF(
                row_fraction * column_fraction * depth_fraction * lane_fraction * busy_fraction * pipelining_fraction
                * fed_fraction, 0e0
            )
        ) AS other_fraction
    FROM shared_losses
)

SELECT
    * EXCLUDE (
        dataflow, block_threads, covered_rows, covered_columns, covered_depth, busy_fraction, fed_fraction, row_fraction, column_fraction,
        depth_fraction, lane_fraction, other_fraction
    ),
    -- Ratio of the product's rows to the rows that its tiles cover, or to the fewest rows that an array streams.
    row_fraction,
    -- Ratio of the product's columns to the columns that its tiles cover, or to the fewest columns that an array of inputs streams.
    column_fraction,
    -- Ratio of the product's depth to the depth that its tiles cover.
    depth_fraction,
    -- Ratio of threads to the threads of all blocks, of which the last may be partly empty.
    lane_fraction,
    busy_fraction,
    fed_fraction,
    -- Share of the peak that remains after all other losses: starting, streaming, combining the results of several units, and use
    -- of only one column of an array.
    other_fraction,
    -- Cause of the largest loss: `rows` or `columns` (padding), `weights` or `inputs` (loading takes longer than the other operand
    -- streams), `depth`, `lanes`, `units`, `waves`, `filling`, `feed` or `other`; null without a loss.
    CASE CASE WHEN utilization_fraction < 1e0 THEN LEAST(
        row_fraction, column_fraction, depth_fraction, lane_fraction, busy_fraction, pipelining_fraction, fed_fraction, other_fraction
    ) END
        WHEN row_fraction THEN CASE WHEN dataflow = 'weight_stationary' AND loaded_rows IS NOT NULL THEN 'weights' ELSE 'rows' END
        WHEN column_fraction THEN CASE WHEN dataflow = 'input_stationary' AND loaded_rows IS NOT NULL THEN 'inputs' ELSE 'columns' END
        WHEN depth_fraction THEN 'depth'
        WHEN lane_fraction THEN 'lanes'
        WHEN busy_fraction THEN CASE WHEN tile_count < tile_unit_count THEN 'units' ELSE 'waves' END
        WHEN pipelining_fraction THEN 'filling'
        WHEN fed_fraction THEN 'feed'
        WHEN other_fraction THEN 'other'
    END AS main_loss
FROM named_losses
