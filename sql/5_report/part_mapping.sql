-- How every operator part sits on a part's units: the candidate its kernel chose.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id, operator_id, part
CREATE VIEW part_mapping (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part of hardware.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Operator.
    operator_id,
    -- Step of the operator.
    part,
    -- Class of the operator.
    operator_class,
    -- `matrix` (tensor cores, AMX, MXU, PE array) or `vector`.
    unit,
    -- Element type the unit computes in.
    executed_precision,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Independent output elements.
    threads,
    -- Peak of the whole part on that unit. [ops/s]
    peak_ops_per_s,
    -- Peak of one unit. [ops/s]
    unit_ops_per_s,
    -- Tiling strategy; null for parts that are not matrix products.
    strategy,
    -- Rows of the tile; null for parts that are not matrix products.
    tile_m,
    -- Columns of the tile; null for parts that are not matrix products.
    tile_n,
    -- Depth of the tile; null for parts that are not matrix products.
    tile_k,
    -- Tiles, or blocks of threads.
    tile_count,
    -- Units that get work.
    units_allocated,
    -- Rounds in which all tiles are done.
    waves,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Share of the tile's time in which the pipeline is full.
    pipelining_fraction,
    -- Bytes the tiles load from the last-level cache, operands again for every tile. [byte]
    reload_byte,
    -- Bytes the chosen tile keeps next to its unit. [byte]
    tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    ideal_compute_s
) AS
SELECT
    c.model_id,
    c.scenario_id,
    c.hardware_id,
    c.subgraph_id,
    c.operator_id,
    c.part,
    c.operator_class,
    c.unit,
    c.executed_precision,
    c.macs,
    c.flops,
    c.threads,
    c.peak_ops_per_s,
    c.unit_ops_per_s,
    c.strategy,
    c.tile_m,
    c.tile_n,
    c.tile_k,
    c.tile_count,
    c.units_allocated,
    c.waves,
    c.utilization_fraction,
    c.pipelining_fraction,
    c.reload_byte,
    c.tile_byte,
    c.ideal_compute_s
FROM part_candidate AS c
INNER JOIN kernel_cost AS k
    ON k.model_id = c.model_id AND k.scenario_id = c.scenario_id AND k.hardware_id = c.hardware_id
    AND k.subgraph_id = c.subgraph_id AND k.candidate = c.candidate
