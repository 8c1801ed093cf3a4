-- Mapping of every kernel to a part: unit, tile, waves and utilization of the kernel's slowest step (`step_mapping`), and a summary
-- in words. In a tie within rounding, the step with the fewest tiles is chosen, then the first. A kernel without arithmetic has no
-- step: it moves data with all units.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_mapping AS
WITH bounded_steps AS (
    SELECT
        *,
        MAX(ideal_s) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS slowest_s,
        COUNT(step_id) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS mapped_count
    FROM mapped_step
),

ranked_steps AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
            ORDER BY tile_count, step_id
        ) AS step_rank
    FROM bounded_steps
    WHERE ideal_s >= slowest_s * (1e0 - 1e-9) OR slowest_s IS NULL
)

SELECT
    m.model,
    m.hardware,
    m.backend,
    m.precision,
    m.batch,
    m.sequence,
    m.scenario_id,
    m.context,
    m.phase,
    m.memory_format,
    m.kernel_id,
    m.position,
    m.kernel,
    m.operator,
    m.module,
    m.kernel_class,
    m.latency_s,
    m.bottleneck,
    -- Number of steps of the kernel.
    m.mapped_count,
    m.step_id,
    m.candidate,
    -- Kind of unit: `matrix` (tensor cores, AMX, MXU, PE array) or `vector`.
    COALESCE(m.unit, 'vector') AS unit,
    m.executed_precision,
    m.strategy,
    m.m,
    m.n,
    m.k,
    m.tile_m,
    m.tile_n,
    m.tile_k,
    -- Number of independent output elements of the step; null without a step.
    m.threads,
    -- Number of samples that can go to different units.
    CAST(m.batch AS DOUBLE) AS batch_parts,
    -- Number of channels (columns of a product's results) that can go to different units; null without a step.
    m.result_columns AS channel_parts,
    -- Number of independent outputs within a sample and channel (positions, tokens, heads, groups), which can go to different
    -- units; null without a step.
    m.threads / NULLIF(m.batch * m.result_columns, 0e0) AS space_parts,
    m.tile_count,
    m.tile_unit_count,
    -- Fewest units that the kernel can use.
    1e0 AS least_units,
    -- Fewest units that need no more waves than all units of the part; null without a step.
    CEIL(m.tile_count / NULLIF(m.waves, 0e0)) AS best_units,
    -- Largest number of units that could get work on a larger part; null without a step.
    m.tile_count AS most_units,
    m.tile_byte,
    m.reload_byte,
    m.units_allocated,
    m.unit_count,
    -- Share of the part's units that get work.
    m.units_allocated / NULLIF(m.unit_count, 0e0) AS occupancy_fraction,
    m.waves,
    m.pipelining_fraction,
    m.row_fraction,
    m.column_fraction,
    m.depth_fraction,
    m.lane_fraction,
    m.busy_fraction,
    m.fed_fraction,
    m.other_fraction,
    m.main_loss,
    m.utilization_fraction,
    m.compute_efficiency_fraction,
    m.memory_efficiency_fraction,
    -- Range of the utilization: `<10%`, `10-50%`, `50-90%` or `>=90%`.
    CASE
        WHEN m.utilization_fraction >= 0.9e0 THEN '>=90%'
        WHEN m.utilization_fraction >= 0.5e0 THEN '50-90%'
        WHEN m.utilization_fraction >= 0.1e0 THEN '10-50%'
        ELSE '<10%'
    END AS utilization_bucket,
    m.is_simulated,
    -- Summary of the mapping in words.
    CASE
        WHEN m.step_id IS NULL THEN 'moves data, no arithmetic'
        ELSE
            CONCAT(
                CAST(CAST(FLOOR(m.threads) AS BIGINT) AS VARCHAR), ' independent outputs in ',
                CAST(CAST(FLOOR(m.tile_count) AS BIGINT) AS VARCHAR),
                CASE WHEN m.tile_m IS NULL THEN ' block' ELSE ' tile' END, CASE WHEN m.tile_count <= 1e0 THEN '' ELSE 's' END,
                ' on ', CAST(CAST(FLOOR(m.units_allocated) AS BIGINT) AS VARCHAR), ' of ',
                CAST(CAST(FLOOR(m.tile_unit_count) AS BIGINT) AS VARCHAR), ' units (', m.unit, '), ',
                CAST(CAST(FLOOR(m.waves) AS BIGINT) AS VARCHAR), CASE WHEN m.waves <= 1e0 THEN ' wave' ELSE ' waves' END,
                ', utilization ', CAST(CAST(FLOOR(100e0 * m.utilization_fraction + 0.5e0) AS BIGINT) AS VARCHAR), ' %',
                CASE
                    WHEN m.utilization_fraction >= 0.9e0 THEN ''
                    ELSE
                        CASE m.main_loss
                            WHEN 'units'
                                THEN CONCAT(': too few ', CASE WHEN m.tile_m IS NULL THEN 'blocks' ELSE 'tiles' END, ' to fill the part')
                            WHEN 'waves' THEN ': the last wave is partly empty'
                            WHEN 'rows' THEN ': tiles cover more rows than the product has'
                            WHEN 'columns' THEN ': tiles cover more columns than the product has'
                            WHEN 'weights'
                                THEN CONCAT(
                                    ': an array that loads ', CAST(CAST(FLOOR(m.loaded_rows) AS BIGINT) AS VARCHAR),
                                    ' rows of weights has time for more rows than the ',
                                    CAST(CAST(FLOOR(m.tile_m) AS BIGINT) AS VARCHAR), ' that a tile streams'
                                )
                            WHEN 'inputs'
                                THEN CONCAT(
                                    ': an array that loads ', CAST(CAST(FLOOR(m.loaded_rows) AS BIGINT) AS VARCHAR),
                                    ' rows of inputs has time for more columns than the ',
                                    CAST(CAST(FLOOR(m.tile_n) AS BIGINT) AS VARCHAR), ' that a tile streams'
                                )
                            WHEN 'depth' THEN ': tiles cover more depth than the product has'
                            WHEN 'lanes' THEN ': the last block of threads is partly empty'
                            WHEN 'filling' THEN ': the product is too shallow to hide how tiles fill and drain'
                            WHEN 'feed' THEN ': tiles of this size are not fed at the full pace'
                            WHEN 'other' THEN ': starting, streaming and combining results take the most'
                            ELSE ''
                        END
                END
            )
    END AS sentence
FROM ranked_steps AS m
WHERE m.step_rank = 1
