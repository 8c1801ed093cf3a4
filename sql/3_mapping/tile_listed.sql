-- Output-stationary tiles of listed sizes: GPU blocks, NPU and DSP tiles, distributed over the units in waves (CUTLASS, efficient
-- GEMM; wave quantization). The time of a tile is the time of its reduction steps, padded in depth, plus filling and draining,
-- which take the time of several steps, at most the memory's latency. From the second wave on, a unit with several tiles computes
-- others while one fills (LEAST skips nulls).
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_listed AS
WITH counted_tiles AS (
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
        s.is_continued,
        -- Chunks of prompts, and time steps of a recurrence whose weights do not fit in a unit, run in sequence and share no wave.
        s.chunk_count * CASE WHEN s.n * s.k * g.element_byte > g.tile_memory_byte THEN GREATEST(s.rounds, 1e0) ELSE 1e0 END AS turns,
        g.element_byte,
        g.stages,
        g.tile_memory_byte_per_s,
        g.fetches_tiles,
        g.exposed_fill,
        g.longest_fill_s,
        g.start_s,
        g.wave_quantization_fraction,
        g.listed_m AS tile_m,
        g.listed_n AS tile_n,
        g.listed_k AS tile_k,
        s.gemm_count * CEIL(s.m / NULLIF(g.listed_m, 0e0)) * CEIL(s.n / NULLIF(g.listed_n, 0e0)) * g.split_k AS tile_count,
        -- Time of a step of the reduction.
        2e0 * g.listed_m * g.listed_n / NULLIF(g.unit_ops_per_s * g.sustained_fraction, 0e0) AS step_s,
        CEIL(s.k / NULLIF(g.step_k * g.split_k, 0e0)) * g.step_k AS padded_k,
        g.fill_k
    FROM shape_step AS s
    INNER JOIN part_backend AS b ON b.backend = s.run.backend
    INNER JOIN arithmetic_tile AS g
        ON g.hardware = b.hardware AND g.arithmetic = b.arithmetic AND g.compute_precision = s.compute_precision AND g.dataflow = 'listed'
    WHERE s.is_product AND NOT s.is_vector_only AND g.overflowing_level IS NULL
),

waved_tiles AS (
    SELECT
        *,
        turns * CEIL(tile_count / NULLIF(turns * tile_unit_count, 0e0)) AS waves,
        turns * wave_count(
            waves / NULLIF(turns, 0e0), tile_count / NULLIF(turns, 0e0), tile_unit_count, wave_quantization_fraction
        ) AS effective_waves,
        step_s * padded_k AS steady_s,
        CASE WHEN is_continued THEN 0e0 ELSE LEAST(step_s * fill_k, longest_fill_s) END AS fill_s,
        CASE WHEN is_continued THEN 0e0 ELSE start_s END AS begin_s
    FROM counted_tiles
),

filled_tiles AS (
    SELECT
        *,
        effective_waves * steady_s AS computing_s,
        turns * fill_s + (effective_waves - turns) * LEAST(fill_s, exposed_fill * steady_s) AS filling_s
    FROM waved_tiles
)

SELECT
    * EXCLUDE (
        is_continued, turns, tile_memory_byte_per_s, fetches_tiles, exposed_fill, longest_fill_s, start_s, wave_quantization_fraction, tile_m,
        tile_n, tile_k, tile_count, step_s, padded_k, fill_k, waves, effective_waves, steady_s, fill_s, begin_s, computing_s,
        filling_s
    ),
    -- Rows of the tile; null without a tile.
    tile_m,
    -- Columns of the tile; null without a tile.
    tile_n,
    -- Depth of the tile; null without a tile.
    tile_k,
    -- Number of tiles, or of blocks of threads.
    tile_count,
    -- Number of waves until all tiles are done.
    waves,
    -- Share of the tile's time during which the pipeline is full.
    computing_s / NULLIF(computing_s + filling_s, 0e0) AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    1e0 AS unit_tile_count,
    -- Size of the results that the tile keeps next to its unit; null if all results stay there in single precision. [byte]
    CAST(NULL AS DOUBLE) AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    tile_memory_byte_per_s AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory. [byte]
    0e0 AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic; 0 if stream buffers are not modelled. [byte]
    0e0 AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    CAST(NULL AS DOUBLE) AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    computing_s + filling_s + turns * begin_s AS tiled_s,
    -- Bytes that units fetch from a shared memory into their own: the operands of every tile; 0 without both. [byte]
    CASE
        WHEN fetches_tiles
            THEN element_byte * gemm_count * k * (m * CEIL(n / NULLIF(tile_n, 0e0)) + n * CEIL(m / NULLIF(tile_m, 0e0)))
        ELSE 0e0
    END AS fetch_byte
FROM filled_tiles
