-- Output-stationary wavefronts of an array (domain flow, KPU; every array with stationary results): K + R + C - 2 cycles for the
-- first tile of R x C results and max(K, R) more for each following tile (kpu_tilesched; derived in docs/cost-model/kpu.md). Blocks
-- that exceed a memory have no rows (`tile_block`), and products that no array computes are in `tile_direct`.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_wavefront AS
WITH counted_tiles AS (
    SELECT
        *,
        product_count_m * product_count_n * gemm_count * split_k AS tile_count
    FROM tile_block
    WHERE overflowing_level IS NULL
),

-- Number of tiles of the busiest unit, in whole blocks.
waved_tiles AS (
    SELECT
        *,
        GREATEST(CEIL(tile_count / NULLIF(tile_unit_count, 0e0)), LEAST(block_tiles, tile_count)) AS waves,
        wave_count(waves, tile_count, tile_unit_count, wave_quantization_fraction) AS effective_waves
    FROM counted_tiles
),

-- A unit computes its tiles in blocks: partial results of a reduction in slabs stay in the tile memory, and the slices of a split
-- reduction are added in pairs. The transfer time is that of the busiest unit, whose tiles are all complete.
timed_tiles AS (
    SELECT
        *,
        slab_k + array_rows + array_columns - 2e0 + (effective_waves * slab_count - 1e0) * GREATEST(slab_k, array_rows) AS cycles,
        -- Number of rounds in which the partial results of a split reduction are added in pairs, and the time of one round on a
        -- unit.
        CASE
            WHEN split_k > 1e0
                THEN GREATEST(CEIL(LOG2(split_k) - 1e-9), CEIL(waves * (split_k - 1e0) / NULLIF(split_k, 0e0)))
            ELSE 0e0
        END AS combining_rounds,
        COALESCE(4e0 * array_rows * array_columns / NULLIF(load_unit_byte_per_s, 0e0), 0e0) AS round_s,
        -- Ratios of the rows and columns of all tiles to the rows and columns of the product, if every tile has the size of the
        -- largest tile.
        LEAST(m, array_rows) * product_count_m / NULLIF(m, 0e0) AS whole_m,
        LEAST(n, array_columns) * product_count_n / NULLIF(n, 0e0) AS whole_n,
        halo_share(taps, image, tile_m, LEAST(tile_k, k), m, k, gemm_count) AS halo_fraction,
        element_byte * m * k * halo_fraction * CEIL(n / NULLIF(tile_n, 0e0)) AS loaded_row_byte,
        element_byte * k * n * CEIL(m / NULLIF(tile_m, 0e0)) AS loaded_column_byte,
        m * n * (CASE WHEN is_staged THEN element_byte ELSE 0e0 END + 4e0 * (split_k - 1e0)) AS carried_result_byte,
        gemm_count * (loaded_row_byte + loaded_column_byte + carried_result_byte) AS loaded_byte,
        CEIL(n / NULLIF(tile_n, 0e0)) AS blocks_across,
        -- Share of the loads of rows that are fetched: a block's rows once for all blocks of a unit in a line, if the whole depth fits.
        CASE
            WHEN tile_k < slice_k THEN 1e0
            ELSE CEIL(blocks_across / NULLIF(LEAST(blocks_across, CEIL(tile_count / NULLIF(block_tiles * tile_unit_count, 0e0))), 0e0))
                / NULLIF(blocks_across, 0e0)
        END AS fetched_fraction,
        element_byte * m * k * CASE WHEN holds_rows THEN CEIL(n / NULLIF(tile_n, 0e0)) ELSE product_count_n END AS streamed_row_byte,
        element_byte * k * n * product_count_m AS streamed_column_byte,
        m * n * (element_byte + 8e0 * (slab_count - 1e0)) AS streamed_result_byte
    FROM waved_tiles
)

SELECT
    * EXCLUDE (
        is_staged, has_own_memory, fetches_tiles, array_clock_hz, filled_fraction, fed_array_hz, tile_memory_byte_per_s,
        load_unit_byte_per_s, stream_unit_byte_per_s, tile_memory_byte, stream_memory_byte, wave_quantization_fraction, split_k,
        listed_k, array_rows, array_columns, tile_m, tile_n, tile_k, block_tiles, product_count_m, product_count_n, slice_k, slab_count,
        slab_k, kept_result_byte, holds_rows, block_byte, step_byte, overflowing_level, tile_count, waves, effective_waves, cycles,
        combining_rounds, round_s, whole_m, whole_n, halo_fraction, loaded_row_byte, loaded_column_byte, carried_result_byte, loaded_byte,
        blocks_across, fetched_fraction, streamed_row_byte, streamed_column_byte, streamed_result_byte
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
    effective_waves * slice_k / NULLIF(cycles, 0e0) AS pipelining_fraction,
    -- Number of tiles that a unit computes at the same time.
    LEAST(block_tiles, tile_count) AS unit_tile_count,
    kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    CASE
        WHEN is_staged
            THEN load_unit_byte_per_s * tile_count / NULLIF(waves, 0e0)
                * (loaded_row_byte + loaded_column_byte + carried_result_byte)
                / NULLIF(loaded_row_byte * whole_m + loaded_column_byte * whole_n + carried_result_byte * whole_m * whole_n, 0e0)
        ELSE tile_memory_byte_per_s
    END AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory: results if software moves them, and partial results of a
    -- split reduction. [byte]
    gemm_count * carried_result_byte AS carried_byte,
    -- Bytes that stream from the tile memory to the arithmetic and back: operands for each tile of an array (rows once per block if
    -- the buffers fit a slab of them), results, and partial results between slabs. [byte]
    gemm_count * (streamed_row_byte + streamed_column_byte + streamed_result_byte) AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    stream_unit_byte_per_s * tile_count / NULLIF(waves, 0e0)
    * (streamed_row_byte + streamed_column_byte + streamed_result_byte)
    / NULLIF(streamed_row_byte * whole_m + streamed_column_byte * whole_n + streamed_result_byte * whole_m * whole_n, 0e0)
        AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    cycles / NULLIF(LEAST(array_clock_hz * filled_fraction, fed_array_hz), 0e0) + combining_rounds * round_s AS tiled_s,
    -- Bytes that units fetch from a shared memory into their own: operands of the blocks, and partial results of a split reduction;
    -- 0 without both memories. [byte]
    CASE WHEN fetches_tiles THEN loaded_byte - gemm_count * loaded_row_byte * (1e0 - fetched_fraction) ELSE 0e0 END AS fetch_byte,
    -- Bytes that the arrays load from the tile memory or, without one, from the last-level cache: the operands of every array tile, of
    -- which a memory of their own streams a matrix, and partial results; the blocks, if software moves them. [byte]
    CASE
        WHEN is_staged THEN loaded_byte
        ELSE gemm_count * (
            streamed_row_byte * CASE WHEN has_own_memory THEN 1e0 ELSE halo_fraction END + streamed_column_byte
            + 8e0 * m * n * (slab_count - 1e0) + CASE WHEN has_own_memory THEN 0e0 ELSE carried_result_byte END
        )
    END AS array_byte
FROM timed_tiles
