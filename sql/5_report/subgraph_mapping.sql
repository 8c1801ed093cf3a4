-- How every kernel sits on a part: unit, tile, waves, utilization, and a sentence that says so.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id
CREATE VIEW subgraph_mapping (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel; conversions are numbered from 1,000,000.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Readable name: the operator classes it fuses.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Independent output elements of its widest part.
    threads,
    -- `matrix` or `vector`.
    unit,
    -- Element type the unit computes in; null for pure data movement.
    executed_precision,
    -- Tiling strategy; null without a matrix product.
    strategy,
    -- Rows of the tile; null without a matrix product.
    tile_m,
    -- Columns of the tile; null without a matrix product.
    tile_n,
    -- Depth of the tile; null without a matrix product.
    tile_k,
    -- Tiles, or blocks of threads.
    tile_count,
    -- Bytes the chosen tile keeps next to its unit. [byte]
    tile_byte,
    -- Bytes tiles load from the last-level cache, operands again for every tile. [byte]
    reload_byte,
    -- Units that get work.
    units_allocated,
    -- Units of the part.
    unit_count,
    -- Share of the units that get work.
    occupancy_fraction,
    -- Rounds in which all tiles are done.
    waves,
    -- Share of a tile's time in which the pipeline is full.
    pipelining_fraction,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Share of that which the kernel class reaches at this size.
    compute_efficiency_fraction,
    -- `<10%`, `10-50%`, `50-90%` or `>=90%`.
    utilization_bucket,
    -- True when the part has no silicon.
    is_simulated,
    -- The mapping in words.
    sentence
) AS
SELECT
    l.model,
    x.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.memory_format,
    l.model_id,
    l.scenario_id,
    x.subgraph_id,
    x.position,
    x.subgraph,
    x.kernel_class,
    x.threads,
    x.unit,
    x.executed_precision,
    x.strategy,
    x.tile_m,
    x.tile_n,
    x.tile_k,
    x.tile_count,
    x.tile_byte,
    x.reload_byte,
    x.units_allocated,
    x.unit_count,
    x.units_allocated / NULLIF(x.unit_count, 0e0) AS occupancy_fraction,
    x.waves,
    x.pipelining_fraction,
    x.utilization_fraction,
    x.compute_efficiency_fraction,
    CASE
        WHEN x.utilization_fraction >= 0.9e0 THEN '>=90%'
        WHEN x.utilization_fraction >= 0.5e0 THEN '50-90%'
        WHEN x.utilization_fraction >= 0.1e0 THEN '10-50%'
        ELSE '<10%'
    END AS utilization_bucket,
    h.is_simulated,
    CONCAT(
        CAST(CAST(FLOOR(x.threads) AS BIGINT) AS VARCHAR), ' independent outputs in ',
        CAST(CAST(FLOOR(x.tile_count) AS BIGINT) AS VARCHAR), ' tiles on ',
        CAST(CAST(FLOOR(x.units_allocated) AS BIGINT) AS VARCHAR), ' of ',
        CAST(CAST(FLOOR(x.unit_count) AS BIGINT) AS VARCHAR), ' units (', x.unit, '), ',
        CAST(CAST(FLOOR(x.waves) AS BIGINT) AS VARCHAR), CASE WHEN x.waves <= 1e0 THEN ' wave' ELSE ' waves' END,
        ', utilization ', CAST(CAST(FLOOR(100e0 * x.utilization_fraction + 0.5e0) AS BIGINT) AS VARCHAR), ' %',
        CASE
            WHEN x.units_allocated < x.unit_count THEN ': too few tiles to fill the part'
            WHEN x.utilization_fraction < 0.5e0 THEN ': tiles are larger than the product they cover'
            WHEN x.waves - x.tile_count / NULLIF(x.unit_count, 0e0) > 0.25e0 THEN ': the last wave is partly empty'
            ELSE ''
        END
    ) AS sentence
FROM kernel_cost AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
INNER JOIN hardware_unit AS h ON h.hardware_id = x.hardware_id
