-- Folds of systolic arrays with a stationary operand, through which the other operand streams. Either weights stay and rows stream
-- (TPU; kpu_dft), or inputs stay and columns stream, with the product's rows and columns exchanged (SCALE-Sim). A pass streams only rows
-- that fit the array's memory together with their results. Units take whole columns of depth folds and share the last columns, whose
-- partial results are combined (`met_columns`). Products that no array computes are in `tile_direct`.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_fold AS
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
        g.has_own_memory,
        g.fetches_tiles,
        g.tile_memory_byte,
        g.tile_memory_byte_per_s,
        g.load_unit_byte_per_s,
        g.stream_unit_byte_per_s,
        g.array_clock_hz * g.filled_fraction AS cycle_hz,
        g.matrix_array_rows,
        g.matrix_array_columns,
        g.held_rows,
        COALESCE(g.accumulator_rows, 0e0) AS accumulator_rows,
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

counted_folds AS (
    SELECT
        *,
        CASE WHEN listed_stream > 0e0 THEN LEAST(listed_stream, stream_size) ELSE stream_size END AS asked_stream,
        -- Number of equal parts that fit the array's memory. The stream is halved until they fit, so that a larger memory can be filled with
        -- the same parts.
        POW(2e0, CEIL(LOG2(GREATEST(COALESCE(asked_stream / NULLIF(held_rows, 0e0), 1e0), 1e0)))) AS fitting_parts,
        CEIL(asked_stream / NULLIF(GREATEST(divisor, fitting_parts), 0e0)) AS streamed,
        CASE WHEN listed_columns > 0e0 THEN listed_columns ELSE matrix_array_columns END AS held_columns,
        CEIL(k / NULLIF(tile_k, 0e0)) AS depth_folds,
        CEIL(column_size / NULLIF(held_columns, 0e0)) AS column_folds,
        CEIL(stream_size / NULLIF(streamed, 0e0)) AS stream_parts,
        gemm_count * column_folds * stream_parts AS column_count,
        -- Columns of folds of one part of the stream that a unit takes.
        LEAST(column_folds, CEIL(column_count / NULLIF(tile_unit_count, 0e0))) AS unit_columns,
        stages * element_byte AS staged_byte,
        CASE WHEN accumulator_rows > 0e0 THEN 0e0 ELSE 4e0 * streamed * held_columns END AS result_byte
    FROM sized_tiles
)

SELECT
    * EXCLUDE (
        divisor, listed_stream, listed_columns, held_rows, asked_stream, fitting_parts, streamed, held_columns, depth_folds, column_folds, stream_parts,
        column_count, unit_columns, staged_byte, result_byte, accumulator_rows, cycle_hz, holds_input, stream_size, column_size, tile_k
    ),
    -- Clock of the whole array, times the share of the peak that it sustains. [Hz]
    cycle_hz,
    -- True if inputs stay, false if weights stay.
    holds_input,
    -- Size of the streamed operand: rows of the product if weights stay, columns if inputs stay.
    stream_size,
    -- Size of the stationary operand: columns of the product if weights stay, rows if inputs stay.
    column_size,
    -- Depth of a fold.
    tile_k,
    -- True if partial results stay in accumulators next to the array.
    accumulator_rows > 0e0 AS has_accumulators,
    -- Size of the part of the stream in one pass.
    streamed,
    -- Size of the stationary operand along the columns of the array.
    held_columns,
    -- Number of folds of the depth.
    depth_folds,
    -- Number of folds of the columns.
    column_folds,
    -- Number of parts of the stream.
    stream_parts,
    -- Number of columns of folds of all products and parts of the stream.
    column_count,
    -- Number of columns of folds for which a unit fetches its part of the stream once: all of its columns if the whole depth fits its
    -- memory, else those whose results the accumulators keep; 1 without accumulators.
    CASE
        WHEN staged_byte * k * (streamed + held_columns) + result_byte <= tile_memory_byte THEN unit_columns
        ELSE GREATEST(1e0, LEAST(
            unit_columns,
            FLOOR(accumulator_rows / NULLIF(streamed, 0e0)),
            FLOOR((tile_memory_byte / NULLIF(staged_byte * tile_k, 0e0) - streamed) / NULLIF(held_columns, 0e0))
        ))
    END AS kept_columns,
    -- Partial results that one unit sends to another, in multiples of the results.
    met_columns(column_count, depth_folds, tile_unit_count) / NULLIF(column_count, 0e0) AS met_folds
FROM counted_folds
