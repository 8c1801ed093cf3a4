-- Passes of systolic arrays with a stationary operand (`tile_fold`); a pass takes max(M, rows) cycles. Partial results of the folds of
-- the depth stay in accumulators next to the array (TPU v1, Jouppi et al. 2017); without accumulators they pass through the tile
-- memory.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_stationary AS
WITH waved_tiles AS (
    SELECT
        *,
        column_count * depth_folds AS tile_count,
        CEIL(tile_count / NULLIF(tile_unit_count, 0e0)) AS waves,
        wave_count(waves, tile_count, tile_unit_count, wave_quantization_fraction) * GREATEST(streamed, matrix_array_rows) AS streaming_cycles,
        matrix_array_rows + matrix_array_columns - 2e0 AS fill_cycles,
        halo_share(taps, image, CASE WHEN holds_input THEN held_columns ELSE streamed END, LEAST(tile_k, k), m, k, gemm_count)
            AS halo_fraction,
        -- Sizes of both operands without pixels that several windows of a tile share.
        stream_size * CASE WHEN holds_input THEN 1e0 ELSE halo_fraction END AS halo_stream,
        column_size * CASE WHEN holds_input THEN halo_fraction ELSE 1e0 END AS halo_columns,
        -- Bytes of partial results that cross units, out and in.
        8e0 * gemm_count * m * n * met_folds AS met_byte,
        CASE
            WHEN is_staged THEN met_byte + gemm_count * m * n * element_byte
            WHEN has_accumulators THEN met_byte
            ELSE GREATEST(met_byte, 8e0 * gemm_count * m * n * (depth_folds - 1e0))
        END AS carried_byte,
        element_byte * gemm_count * k * (halo_stream * column_folds + halo_columns * stream_parts) + carried_byte AS loaded_byte
    FROM tile_fold
)

SELECT
    * EXCLUDE (
        is_staged, has_own_memory, fetches_tiles, tile_memory_byte, tile_memory_byte_per_s, load_unit_byte_per_s, stream_unit_byte_per_s, cycle_hz,
        matrix_array_rows, matrix_array_columns, has_accumulators, wave_quantization_fraction, holds_input, stream_size, column_size,
        tile_k, streamed, held_columns, depth_folds, column_folds, stream_parts, column_count, kept_columns, met_folds, tile_count, waves,
        streaming_cycles, fill_cycles, halo_fraction, halo_stream, halo_columns, met_byte, carried_byte, loaded_byte
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
    -- Size of the results that the tile keeps next to its unit: 0 with accumulators; null if all results stay there in single
    -- precision. [byte]
    CASE WHEN has_accumulators THEN 0e0 END AS kept_result_byte,
    -- Rate at which all units together load tiles; null when unknown. [byte/s]
    CASE WHEN is_staged THEN load_unit_byte_per_s * tile_count / NULLIF(waves, 0e0) ELSE tile_memory_byte_per_s END
        AS load_byte_per_s,
    -- Bytes other than operands that cross the border of the tile memory: partial results of a column of tiles shared by several
    -- units, or of all folds on parts without accumulators, out and in, and results if software moves them. [byte]
    carried_byte,
    -- Bytes that software streams from the tile memory to the arithmetic and back: the streamed operand once per fold of columns,
    -- the stationary one once per part of the stream, results, and partial results between folds of the depth without accumulators.
    -- [byte]
    CASE
        WHEN is_staged
            THEN gemm_count * (
                element_byte * k * (
                    stream_size * column_folds + column_size * stream_parts
                ) + m * n * (element_byte + CASE WHEN has_accumulators THEN 0e0 ELSE 8e0 * (depth_folds - 1e0) END)
            )
        ELSE 0e0
    END AS stream_byte,
    -- Rate at which all units together stream `stream_byte`; null when unknown. [byte/s]
    CASE WHEN is_staged THEN stream_unit_byte_per_s * tile_count / NULLIF(waves, 0e0) END AS stream_byte_per_s,
    -- Time of the tiles, filling and draining included, before other bounds apply. [s]
    (streaming_cycles + fill_cycles) / NULLIF(cycle_hz, 0e0) AS tiled_s,
    -- Bytes that units fetch from a shared memory into their own: the stream once per kept columns, the stationary operand once per part
    -- of the stream, and partial results that cross units; 0 without both memories. [byte]
    CASE
        WHEN fetches_tiles
            THEN element_byte * gemm_count * k
                * (halo_stream * CEIL(column_folds / NULLIF(kept_columns, 0e0)) + halo_columns * stream_parts) + met_byte
        ELSE 0e0
    END AS fetch_byte,
    -- Bytes that the arrays load from the tile memory or, without one, from the last-level cache: both operands in every pass, of
    -- which a memory of their own streams a matrix, and partial results. [byte]
    CASE
        WHEN has_own_memory THEN element_byte * gemm_count * k * (stream_size * column_folds + column_size * stream_parts) + carried_byte
        ELSE loaded_byte
    END AS array_byte
FROM waved_tiles
