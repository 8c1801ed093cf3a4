-- Output-stationary wavefronts of a domain-flow array: K + R + C - 2 cycles for one tile and max(K, R) more for each that
-- follows (KPU; kpu_tilesched). What no array computes goes to `tile_direct`.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware, step_id, candidate
CREATE VIEW tile_wavefront AS
WITH counted_tiles AS (
    SELECT
        s.model,
        s.backend,
        s.precision,
        s.batch,
        s.sequence,
        s.scenario_id,
        s.shape_id,
        g.hardware,
        s.step_id,
        s.is_product,
        s.product_count,
        g.candidate,
        g.is_matrix,
        g.executed_precision,
        g.strategy,
        g.tile_unit_count,
        g.peak_ops_per_s,
        g.unit_ops_per_s,
        g.op_j,
        s.flops,
        s.m,
        s.n,
        s.k,
        s.gemm_count,
        g.element_byte,
        g.stages,
        g.array_clock_hz * g.filled_fraction AS cycle_hz,
        g.matrix_array_rows AS tile_m,
        g.matrix_array_columns AS tile_n,
        s.k AS tile_k,
        s.gemm_count * CEIL(s.m / NULLIF(g.matrix_array_rows, 0e0)) * CEIL(s.n / NULLIF(g.matrix_array_columns, 0e0))
            AS tile_count,
        g.wave_quantization_fraction
    FROM shape_step AS s
    INNER JOIN part_tile AS g
        ON g.backend = s.backend AND g.compute_precision = s.compute_precision AND g.dataflow = 'wavefront'
    WHERE s.is_product
),

waved_tiles AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(tile_unit_count, 0e0)) AS waves,
        wave_quantization_fraction * CEIL(tile_count / NULLIF(tile_unit_count, 0e0))
        + (1e0 - wave_quantization_fraction) * GREATEST(1e0, tile_count / NULLIF(tile_unit_count, 0e0)) AS effective_waves
    FROM counted_tiles
),

timed_tiles AS (
    SELECT
        *,
        k + tile_m + tile_n - 2e0 + (effective_waves - 1e0) * GREATEST(k, tile_m) AS cycles
    FROM waved_tiles
)

SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    shape_id,
    hardware,
    step_id,
    is_product,
    product_count,
    candidate,
    is_matrix,
    executed_precision,
    strategy,
    tile_unit_count,
    peak_ops_per_s,
    unit_ops_per_s,
    op_j,
    flops,
    m,
    n,
    k,
    gemm_count,
    element_byte,
    stages,
    -- Rows of the tile; null where no tile is cut.
    tile_m,
    -- Columns of the tile; null where no tile is cut.
    tile_n,
    -- Depth of the tile; null where no tile is cut.
    tile_k,
    -- Tiles, or blocks of threads.
    tile_count,
    -- Rounds in which all tiles are done.
    waves,
    -- Share of the tile's time in which the pipeline is full.
    effective_waves * k / NULLIF(cycles, 0e0) AS pipelining_fraction,
    -- Time of its tiles, filled and drained, with no other bound. [s]
    cycles / NULLIF(cycle_hz, 0e0) AS tiled_s
FROM timed_tiles
