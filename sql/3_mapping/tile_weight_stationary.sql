-- Weight-stationary tiles: an array holds weights of its own size while rows stream through, max(M, rows) cycles a pass
-- (TPU; kpu_dft). What no array computes goes to `tile_direct`.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware, step_id, candidate
CREATE VIEW tile_weight_stationary AS
WITH sized_tiles AS (
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
        g.tile_memory_byte_per_s,
        g.array_clock_hz * g.filled_fraction AS cycle_hz,
        g.matrix_array_rows,
        g.matrix_array_columns,
        CASE WHEN g.listed_m > 0e0 THEN LEAST(g.listed_m, s.m) ELSE CEIL(s.m / NULLIF(g.divisor, 0e0)) END AS streamed_m,
        -- Rows that stay with their weights; a longer stream reads those again (LEAST passes over nulls).
        LEAST(streamed_m, g.held_rows) AS tile_m,
        CASE WHEN g.listed_n > 0e0 THEN g.listed_n ELSE g.matrix_array_columns END AS tile_n,
        CASE WHEN g.listed_k > 0e0 THEN g.listed_k ELSE g.matrix_array_rows END AS tile_k,
        g.wave_quantization_fraction
    FROM shape_step AS s
    INNER JOIN part_tile AS g
        ON g.backend = s.backend AND g.compute_precision = s.compute_precision AND g.dataflow = 'weight_stationary'
    WHERE s.is_product AND g.overflowing_level IS NULL
),

counted_tiles AS (
    SELECT
        *,
        gemm_count * CEIL(k / NULLIF(tile_k, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0)) * CEIL(m / NULLIF(streamed_m, 0e0)) AS tile_count
    FROM sized_tiles
),

waved_tiles AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(tile_unit_count, 0e0)) AS waves,
        wave_count(waves, tile_count, tile_unit_count, wave_quantization_fraction) * GREATEST(streamed_m, matrix_array_rows) AS streaming_cycles,
        matrix_array_rows + matrix_array_columns - 2e0 AS fill_cycles
    FROM counted_tiles
)

SELECT
    * EXCLUDE (
        tile_memory_byte_per_s, cycle_hz, matrix_array_rows, matrix_array_columns, streamed_m, tile_m, tile_n, tile_k,
        wave_quantization_fraction, tile_count, waves, streaming_cycles, fill_cycles
    ),
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
    streaming_cycles / NULLIF(streaming_cycles + fill_cycles, 0e0) AS pipelining_fraction,
    -- Tiles that a unit takes together.
    1e0 AS unit_tile_count,
    -- Results that the tile keeps next to its unit; null where it keeps all, in single precision. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units' tiles are loaded together; null when unknown. [byte/s]
    tile_memory_byte_per_s AS load_byte_per_s,
    -- Bytes that cross the border of the tile memory besides operands. [byte]
    0e0 AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic, where buffers between them are told apart. [byte]
    0e0 AS stream_byte,
    -- Rate at which all units draw them together; null when unknown. [byte/s]
    CAST(NULL AS DOUBLE) AS stream_byte_per_s,
    -- Time of its tiles, filled and drained, with no other bound. [s]
    (streaming_cycles + fill_cycles) / NULLIF(cycle_hz, 0e0) AS tiled_s
FROM waved_tiles
