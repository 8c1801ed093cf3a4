-- Every step of every shape other than a product, on the vector units in blocks of threads: a partly filled last block costs as
-- much as a whole block, so that more threads never take less time. On a domain-flow part, units without a block share the elements
-- of each result and combine partial results in rounds of pairs; a depthwise convolution runs in one column of the arrays if that
-- is faster (docs/cost-model/kpu.md). The columns are those of `tile_step`, without tiles.
-- Grain: run, shape_id, hardware, step_id
CREATE VIEW vector_step AS
WITH blocked_steps AS (
    SELECT
        s.*,
        b.hardware,
        b.arithmetic,
        r.block_threads,
        r.vector_unit_count AS unit_count,
        r.element_byte,
        COALESCE(r.vector_precision, r.matrix_precision) AS executed_precision,
        r.matrix_precision,
        COALESCE(r.vector_ops_per_s, r.matrix_ops_per_s) AS peak_ops_per_s,
        r.vector_op_j,
        r.matrix_op_j,
        s.is_reducing AND r.is_staged AS is_shared,
        GREATEST(1e0, CEIL(s.threads / NULLIF(r.block_threads, 0e0))) AS block_count,
        LEAST(1e0, r.block_threads / GREATEST(s.threads, 1e0)) AS block_fraction,
        s.flops * block_fraction AS block_flops,
        LEAST(r.block_threads, s.threads) AS block_results,
        GREATEST(1e0, COALESCE(NULLIF(s.macs, 0e0), s.flops) / GREATEST(s.threads, 1e0)) AS window_elements,
        r.load_unit_byte_per_s,
        r.stream_unit_byte_per_s,
        r.matrix_array_rows,
        r.matrix_array_columns,
        r.matrix_unit_count,
        r.matrix_ops_per_s
        / NULLIF(2e0 * r.matrix_array_rows * r.matrix_array_columns * r.matrix_unit_count, 0e0) AS array_clock_hz
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_rate AS r
        ON r.hardware = b.hardware AND r.arithmetic = b.arithmetic AND r.compute_precision = s.compute_precision
    WHERE NOT s.is_product AND (s.query_count IS NULL OR NOT r.cuts_queries)
),

-- A round moves the partial results of a block from one unit to another in single precision, and adds them.
combined_steps AS (
    SELECT
        *,
        CEIL(block_count / NULLIF(unit_count, 0e0)) AS waves,
        block_results * (
            COALESCE(4e0 / NULLIF(load_unit_byte_per_s, 0e0), 0e0) + unit_count / NULLIF(peak_ops_per_s, 0e0)
        ) AS round_s
    FROM blocked_steps
),

-- Number of parts p of a block, limited by units and by the elements of a result, that minimizes block_s / p + round_s * LOG2(p): p
-- = LN(2) * block_s / round_s.
shared_steps AS (
    SELECT
        *,
        CASE
            WHEN is_shared
                THEN GREATEST(1e0, LEAST(
                    FLOOR(unit_count / NULLIF(block_count, 0e0)),
                    FLOOR(LN(2e0) * block_flops * unit_count / NULLIF(peak_ops_per_s * round_s, 0e0))
                ))
            ELSE 1e0
        END AS part_count,
        CASE
            WHEN is_shared AND macs > 0e0
                THEN (
                    window_elements + matrix_array_rows - 1e0
                    + (CEIL(CEIL(threads / NULLIF(matrix_array_rows, 0e0)) / NULLIF(matrix_unit_count, 0e0)) - 1e0)
                    * GREATEST(window_elements, matrix_array_rows)
                ) / NULLIF(array_clock_hz, 0e0)
        END AS column_s,
        CASE WHEN is_shared THEN element_byte * threads * (window_elements + 1e0) ELSE 0e0 END AS stream_byte
    FROM combined_steps
),

streamed_steps AS (
    SELECT
        *,
        COALESCE(stream_byte * block_fraction * waves / NULLIF(part_count * stream_unit_byte_per_s, 0e0), 0e0) AS stream_s,
        CASE WHEN is_shared THEN window_elements + matrix_array_rows + matrix_array_columns - 2e0 END AS fill_cycles
    FROM shared_steps
),

-- A reduction over many elements takes at least as long as the elements take to arrive, and the first element must cross the array.
timed_steps AS (
    SELECT
        *,
        GREATEST(
            waves * block_flops * unit_count / NULLIF(peak_ops_per_s * part_count, 0e0)
            + CASE WHEN part_count > 1e0 THEN LOG2(part_count) * round_s ELSE 0e0 END,
            flops / NULLIF(peak_ops_per_s, 0e0),
            stream_s
        ) + COALESCE(fill_cycles / NULLIF(array_clock_hz, 0e0), 0e0) AS spread_s
    FROM streamed_steps
)

SELECT
    run, shape_id, hardware, arithmetic, step_id, is_product, product_count,
    -- Null, because there are no candidates.
    CAST(NULL AS BIGINT) AS candidate,
    -- True for matrix units, false for vector units.
    COALESCE(column_s < spread_s, FALSE) AS is_matrix,
    -- Element type that the unit computes in.
    CASE WHEN column_s < spread_s THEN matrix_precision ELSE executed_precision END AS executed_precision,
    -- Tiling strategy; null without tiles.
    CAST(NULL AS VARCHAR) AS strategy,
    unit_count AS tile_unit_count,
    -- Peak of all units together. [ops/s]
    peak_ops_per_s,
    -- Peak of one unit. [ops/s]
    peak_ops_per_s / NULLIF(unit_count, 0e0) AS unit_ops_per_s,
    -- Energy of an operation; null when unknown. [J]
    CASE WHEN column_s < spread_s THEN matrix_op_j ELSE vector_op_j END AS op_j,
    flops,
    m,
    n,
    k,
    gemm_count,
    macs, threads, taps, image, query_count, query_heads, compute_precision,
    element_byte,
    -- Rows of the tile; null without tiles.
    CAST(NULL AS DOUBLE) AS tile_m,
    -- Columns of the tile; null without tiles.
    CAST(NULL AS DOUBLE) AS tile_n,
    -- Depth of the tile; null without tiles.
    CAST(NULL AS DOUBLE) AS tile_k,
    -- Number of blocks of threads, or of parts of blocks.
    block_count * part_count AS tile_count,
    -- Number of waves until all blocks are done.
    waves,
    -- Share of the time in which the pipeline is full.
    1e0 AS pipelining_fraction,
    -- Number of units that get work.
    LEAST(block_count * part_count, unit_count) AS units_allocated,
    -- Bytes that tiles load from the last-level cache: 0 without tiles. [byte]
    0e0 AS reload_byte,
    -- Time to load `reload_byte`. [s]
    0e0 AS reload_s,
    -- Bytes that stream from the tile memory to the arithmetic and back; the elements of each result stream again; 0 if stream
    -- buffers are not modelled. [byte]
    stream_byte,
    -- Time to stream `stream_byte`; 0 when the bandwidth is unknown. [s]
    stream_s,
    -- Size of a tile in the memory next to its unit: 0 without tiles. [byte]
    0e0 AS tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    LEAST(spread_s, column_s) AS ideal_s,
    block_threads
FROM timed_steps
