-- Every product of every shape with every candidate tile of every dataflow, and the quantities that all dataflows compute in the
-- same way.
-- Grain: run, shape_id, hardware, step_id, candidate
CREATE VIEW tile_step AS
WITH all_steps AS (
    SELECT *, CAST(NULL AS DOUBLE) AS array_byte FROM tile_listed
    UNION ALL
    SELECT *, 0e0, CAST(NULL AS DOUBLE) FROM tile_square
    UNION ALL
    SELECT * FROM tile_stationary
    UNION ALL
    SELECT * FROM tile_wavefront
    UNION ALL
    SELECT *, 0e0, CAST(NULL AS DOUBLE) FROM tile_direct
    UNION ALL
    SELECT *, 0e0, CAST(NULL AS DOUBLE) FROM tile_query_block
),

tiled_steps AS (
    SELECT
        *,
        COALESCE(
            array_byte - carried_byte,
            element_byte * gemm_count * (m * k * CEIL(n / NULLIF(tile_n, 0e0)) + k * n * CEIL(m / NULLIF(tile_m, 0e0))), 0e0
        ) + carried_byte AS reload_byte
    FROM all_steps
)

SELECT
    * EXCLUDE (
        stages, tiled_s, unit_tile_count, kept_result_byte, carried_byte, load_byte_per_s,
        stream_byte_per_s, reload_byte, stream_byte, array_byte, fetch_byte
    ),
    -- Number of units that get work.
    LEAST(tile_count / NULLIF(unit_tile_count, 0e0), tile_unit_count) AS units_allocated,
    -- Bytes that the tiles load from the memories next to the units or, without these, from the last-level cache: every tile loads its
    -- operands again, but pixels that several windows share count once per tile of an array without a memory of its own; 0 without
    -- tiles. [byte]
    reload_byte,
    -- Time to load `reload_byte`; 0 when the bandwidth is unknown. [s]
    COALESCE(reload_byte / NULLIF(load_byte_per_s, 0e0), 0e0) AS reload_s,
    stream_byte,
    -- Time to stream `stream_byte`; 0 when the bandwidth is unknown. [s]
    COALESCE(stream_byte / NULLIF(stream_byte_per_s, 0e0), 0e0) AS stream_s,
    -- Size of the tile in the memory next to its unit; 0 without a tile. [byte]
    COALESCE(
        stages * element_byte * (tile_m * LEAST(tile_k, k) + LEAST(tile_k, k) * tile_n)
        + COALESCE(kept_result_byte, 4e0 * tile_m * tile_n), 0e0
    ) AS tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    GREATEST(tiled_s, flops / NULLIF(peak_ops_per_s, 0e0)) AS ideal_s,
    -- Number of threads of a block of vector units; null for tiles, whose threads are in `arithmetic_tile`.
    CAST(NULL AS DOUBLE) AS block_threads,
    -- Bytes that units fetch from a memory shared by all units into their own; 0 without both memories. [byte]
    fetch_byte
FROM tiled_steps
