-- Mapping of every step of every kernel to the units of a part: a product with the tile chosen for its shape, any other step on the
-- vector units. A kernel without arithmetic has one row without a step.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, step_id
CREATE VIEW mapped_step AS
SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.context,
    k.phase,
    k.memory_format,
    k.kernel_id,
    k.shape_id,
    k.weight_byte,
    k.reread_weight_byte,
    k.held_weight_fraction,
    k.dram_byte,
    k.position,
    k.kernel,
    k.operator,
    k.module,
    k.kernel_class,
    k.latency_s,
    k.bottleneck,
    k.unit_count,
    k.is_simulated,
    -- Share of the rate computed for the tiles that the kernel class attains at this size.
    CASE
        WHEN k.compute_s > 0e0
            THEN GREATEST(k.matrix_ideal_s, k.direct_ideal_s + k.vector_ideal_s) / NULLIF(k.compute_s, 0e0)
        ELSE 1e0
    END AS compute_efficiency_fraction,
    -- Share of the peak bandwidth that the kernel class attains at this size; 1 without main-memory traffic.
    CASE WHEN k.dram_s > 0e0 THEN k.dram_byte / NULLIF(k.dram_byte_per_s * k.dram_s, 0e0) ELSE 1e0 END
        AS memory_efficiency_fraction,
    s.step_id,
    -- Number of the candidate tile that the step uses; null for a step without a tile.
    s.candidate,
    -- Kind of unit: `matrix` (tensor cores, AMX, MXU, PE array) or `vector`; null without a step.
    CASE WHEN s.is_matrix THEN 'matrix' WHEN NOT s.is_matrix THEN 'vector' END AS unit,
    -- Element type that the unit computes in; null without a step.
    s.executed_precision,
    -- Tiling strategy; null for steps other than products.
    s.strategy,
    s.macs,
    s.flops,
    s.threads,
    s.m,
    s.n,
    s.k,
    s.gemm_count,
    s.taps,
    s.image,
    s.result_columns,
    s.element_byte,
    s.peak_ops_per_s,
    s.unit_ops_per_s,
    -- Rows of the tile; null without a tile.
    s.tile_m,
    -- Columns of the tile; null without a tile.
    s.tile_n,
    -- Depth of the tile; null without a tile.
    s.tile_k,
    -- Number of tiles, or of blocks of threads; null without a step.
    s.tile_count,
    -- Number of units that can execute these tiles; null without a step.
    s.tile_unit_count,
    -- Number of units that get work; all units without a step.
    COALESCE(s.units_allocated, k.unit_count) AS units_allocated,
    -- Number of waves until all tiles are done; null without a step.
    s.waves,
    -- Share of the tile's time during which the pipeline is full; null without a step.
    s.pipelining_fraction,
    -- Share of the peak that remains after losses from tile shapes and wave quantization; 1 without arithmetic.
    COALESCE(s.utilization_fraction, 1e0) AS utilization_fraction,
    s.row_fraction,
    s.column_fraction,
    s.depth_fraction,
    s.lane_fraction,
    s.busy_fraction,
    s.fed_fraction,
    s.other_fraction,
    s.main_loss,
    s.loaded_rows,
    -- Bytes that the tiles load from the last-level cache; every tile loads its operands again. [byte]
    COALESCE(s.reload_byte, 0e0) AS reload_byte,
    -- Size of the tile in the memory next to its unit. [byte]
    COALESCE(s.tile_byte, 0e0) AS tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included; null without a step. [s]
    s.ideal_s
FROM kernel_time AS k
LEFT JOIN placed_step AS s
    ON s.run.model = k.model AND s.hardware = k.hardware AND s.run.backend = k.backend AND s.run.precision = k.precision
    AND s.run.batch = k.batch AND s.run.sequence = k.sequence AND s.run.scenario_id = k.scenario_id AND s.shape_id = k.shape_id
    AND COALESCE(s.candidate, k.candidate) = k.candidate
