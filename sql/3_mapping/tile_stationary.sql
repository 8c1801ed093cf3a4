-- Passes of systolic arrays with a stationary operand, through which the other operand streams; a pass takes max(M, rows) cycles.
-- Either weights stay and rows stream (TPU; kpu_dft), or inputs stay and columns stream, with the product's rows and columns
-- exchanged (SCALE-Sim). Products that no array computes are in `tile_direct`.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_stationary AS
WITH sized_tiles AS (
    SELECT
        s.run,
        s.shape_id,
        g.hardware,
        g.arithmetic,
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
        s.macs, s.threads, s.taps, s.image, s.query_count, s.query_heads, s.compute_precision,
        g.element_byte,
        g.stages,
        g.is_staged,
        g.tile_memory_byte_per_s,
        g.load_unit_byte_per_s,
        g.stream_unit_byte_per_s,
        g.array_clock_hz * g.filled_fraction AS cycle_hz,
        g.matrix_array_rows,
        g.matrix_array_columns,
        g.held_rows,
        g.divisor,
        g.wave_quantization_fraction,
        g.dataflow = 'input_stationary' AS holds_input,
        -- Size of the streamed operand, and size along the columns of the array.
        CASE WHEN holds_input THEN s.n ELSE s.m END AS stream_size,
        CASE WHEN holds_input THEN s.m ELSE s.n END AS column_size,
        CASE WHEN holds_input THEN g.listed_n ELSE g.listed_m END AS listed_stream,
        CASE WHEN holds_input THEN g.listed_m ELSE g.listed_n END AS listed_columns,
        CASE WHEN g.listed_k > 0e0 THEN g.listed_k ELSE g.matrix_array_rows END AS tile_k
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision
        AND g.dataflow IN ('weight_stationary', 'input_stationary')
    WHERE s.is_product AND g.overflowing_level IS NULL
),

-- A pass streams only rows that fit the array's memory together with their results. Units take whole columns of depth folds and
-- share the last columns, whose partial results are combined (`met_columns`).
counted_tiles AS (
    SELECT
        *,
        CASE WHEN listed_stream > 0e0 THEN LEAST(listed_stream, stream_size) ELSE CEIL(stream_size / NULLIF(divisor, 0e0)) END
            AS asked_stream,
        -- Size of the equal parts of the stream that fit the array's memory.
        CASE
            WHEN held_rows < asked_stream THEN CEIL(asked_stream / NULLIF(CEIL(asked_stream / NULLIF(held_rows, 0e0)), 0e0))
            ELSE asked_stream
        END AS streamed,
        CASE WHEN listed_columns > 0e0 THEN listed_columns ELSE matrix_array_columns END AS held_columns,
        CEIL(k / NULLIF(tile_k, 0e0)) AS depth_folds,
        CEIL(column_size / NULLIF(held_columns, 0e0)) AS column_folds,
        gemm_count * column_folds * CEIL(stream_size / NULLIF(streamed, 0e0)) AS column_count,
        column_count * depth_folds AS tile_count,
        8e0 * gemm_count * m * n * met_columns(column_count, depth_folds, tile_unit_count) / NULLIF(column_count, 0e0) AS met_byte
    FROM sized_tiles
),

waved_tiles AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(tile_unit_count, 0e0)) AS waves,
        wave_count(waves, tile_count, tile_unit_count, wave_quantization_fraction) * GREATEST(streamed, matrix_array_rows) AS streaming_cycles,
        matrix_array_rows + matrix_array_columns - 2e0 AS fill_cycles
    FROM counted_tiles
)

SELECT
    * EXCLUDE (
        is_staged, tile_memory_byte_per_s, load_unit_byte_per_s, stream_unit_byte_per_s, cycle_hz, matrix_array_rows, matrix_array_columns,
        held_rows, divisor, wave_quantization_fraction, holds_input, stream_size, column_size, listed_stream, listed_columns, tile_k,
        asked_stream, streamed, held_columns, depth_folds, column_folds, column_count, tile_count, met_byte, waves, streaming_cycles, fill_cycles
    ),
    -- Rows of the tile; null without a tile.
    CASE WHEN holds_input THEN held_columns ELSE streamed END AS tile_m,
    -- Columns of the tile; null without a tile.
    CASE WHEN holds_input THEN streamed ELSE held_columns END AS tile_n,
    -- Depth of the tile; null without a tile.
    tile_k,
    -- Number of tiles, or of blocks of threads.
    tile_count,
    -- Number of waves until all tiles are done.
    waves,
    -- Share of the tile's time during which the pipeline is full.
    streaming_cycles / NULLIF(streaming_cycles + fill_cycles, 0e0) AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    1e0 AS unit_tile_count,
    -- Size of the results that the tile keeps next to its unit; null if all results stay there in single precision. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    CASE WHEN is_staged THEN load_unit_byte_per_s * tile_count / NULLIF(waves, 0e0) ELSE tile_memory_byte_per_s END
        AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory: partial results of a column of tiles shared by several
    -- units, out and in, and results if software moves them. [byte]
    met_byte + CASE WHEN is_staged THEN gemm_count * m * n * element_byte ELSE 0e0 END AS carried_byte,
    -- Bytes that software streams from the tile memory to the arithmetic and back: the streamed operand once per fold of columns,
    -- the stationary one once per part of the stream, results, and partial results between folds of the depth. [byte]
    CASE
        WHEN is_staged
            THEN gemm_count * (
                element_byte * k * (
                    stream_size * column_folds + column_size * CEIL(stream_size / NULLIF(streamed, 0e0))
                ) + m * n * (element_byte + 8e0 * (depth_folds - 1e0))
            )
        ELSE 0e0
    END AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    CASE WHEN is_staged THEN stream_unit_byte_per_s * tile_count / NULLIF(waves, 0e0) END AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    (streaming_cycles + fill_cycles) / NULLIF(cycle_hz, 0e0) AS tiled_s,
    -- Share of a tile's columns of input that is loaded; overlapping windows share the rest.
    halo_share(taps, image, CASE WHEN holds_input THEN held_columns ELSE streamed END, LEAST(tile_k, k), m, k, gemm_count) AS halo_fraction
FROM waved_tiles
