-- Candidate tiles on every part, each with its units, peak, sustained rate and filling time. Products that no array computes go to
-- the vector units. Peaks depend on the element type and on the way in which a backend uses the units.
-- Grain: hardware, arithmetic, compute_precision, candidate
CREATE TABLE arithmetic_tile AS
WITH rated_tiles AS (
    SELECT
        *,
        CASE WHEN NOT is_matrix THEN vector_unit_count WHEN is_systolic THEN matrix_unit_count ELSE unit_count END
            AS rated_unit_count,
        CASE WHEN is_matrix THEN matrix_ops_per_s ELSE COALESCE(vector_ops_per_s, matrix_ops_per_s) END AS rated_ops_per_s,
        CASE WHEN is_matrix THEN matrix_precision ELSE COALESCE(vector_precision, matrix_precision) END AS executed_precision,
        CASE WHEN is_matrix THEN matrix_op_j ELSE vector_op_j END AS op_j,
        CASE WHEN is_left_to_vector THEN 1e0 ELSE efficiency_fraction END AS filled_fraction
    FROM offered_tile
),

-- A memory shared by all units limits the number of units that get a tile; the others stay idle (LEAST skips nulls).
working_units AS (
    SELECT
        *,
        LEAST(rated_unit_count, pooled_unit_count) AS tile_unit_count,
        rated_ops_per_s * COALESCE(LEAST(1e0, pooled_unit_count / NULLIF(rated_unit_count, 0e0)), 1e0) AS peak_ops_per_s
    FROM rated_tiles
    WHERE rated_ops_per_s > 0e0
),

-- Small tiles reuse their operands less, so that the tile memory may limit the unit's rate (LEAST skips nulls).
fed_tiles AS (
    SELECT
        *,
        peak_ops_per_s / NULLIF(tile_unit_count, 0e0) AS unit_ops_per_s,
        GREATEST(
            lanes,
            FLOOR(SQRT(stated_tile_memory_byte / NULLIF(2e0 * (2e0 * element_byte + 4e0), 0e0)) / NULLIF(lanes * divisor, 0e0))
            * lanes
        ) AS square_block,
        peak_ops_per_s / NULLIF(2e0 * matrix_array_rows * matrix_array_columns * tile_unit_count, 0e0) AS array_clock_hz,
        filled_fraction / NULLIF(
            filled_fraction + (1e0 - filled_fraction) * LEAST(
                1e0, peak_ops_per_s * element_byte / NULLIF(2e0 * fed_macs * tile_memory_byte_per_s, 0e0)
            ), 0e0
        ) AS sustained_fraction
    FROM working_units
)

SELECT
    hardware,
    arithmetic,
    compute_precision,
    -- Number of the candidate tile.
    candidate,
    -- Tiling strategy; null for a product without tiles.
    CASE WHEN is_left_to_vector THEN NULL ELSE strategy END AS strategy,
    -- Dataflow of the tiles: `listed`, `square`, `weight_stationary`, `input_stationary`, `wavefront`, `query_block` or `direct`
    -- (no tiles).
    CASE
        WHEN is_left_to_vector THEN 'direct'
        WHEN dataflow = 'output_stationary' AND listed_m = 0e0 THEN 'square'
        WHEN dataflow = 'output_stationary' THEN 'listed'
        ELSE dataflow
    END AS dataflow,
    -- True for matrix units (tensor cores, AMX, MXU, PE array), false for vector units.
    is_matrix,
    -- Element type that the unit computes in.
    executed_precision,
    element_byte,
    lanes,
    -- Number of units that can execute the tiles.
    tile_unit_count,
    -- Peak of all these units together. [ops/s]
    peak_ops_per_s,
    -- Peak of one of these units. [ops/s]
    unit_ops_per_s,
    -- Energy of an operation; null when unknown. [J]
    op_j,
    matrix_array_rows,
    matrix_array_columns,
    -- Clock of the whole array; null without an array. [Hz]
    array_clock_hz,
    -- Peak of the vector units for the same element type, or of the matrix units where the part has no vector peak. [ops/s]
    COALESCE(vector_ops_per_s, matrix_ops_per_s) AS vector_ops_per_s,
    COALESCE(vector_precision, matrix_precision) AS vector_precision,
    vector_op_j,
    block_threads,
    cuts_queries,
    -- Rows of the tile as listed; 0 if charz computes the size.
    listed_m,
    -- Columns of the tile as listed, or of the widest product that runs without tiles; 0 if charz computes the size, null without a
    -- limit.
    CASE WHEN is_left_to_vector THEN NULL ELSE listed_n END AS listed_n,
    -- Depth of one stage as listed; 0 if charz computes the size.
    listed_k,
    -- Fewest queries for which a query block is chosen; null for other tiles.
    from_m,
    -- Number of queries from which a larger block is chosen; null without a limit.
    below_m,
    -- Side of the square block whose three double-buffered operands fit the core's cache of the size in the part's file, 2 * T^2 *
    -- (b_A + b_B + b_acc) <= L2, divided by the row's divisor: a multiple of the vector width, at least one. A larger cache also
    -- fits blocks of divisors below 1.
    square_block,
    divisor,
    -- Side of the square block whose three double-buffered operands fit the first level; null without a first level.
    GREATEST(
        lanes, FLOOR(SQRT(stream_memory_byte / NULLIF(2e0 * (2e0 * element_byte + 4e0), 0e0)) / NULLIF(lanes, 0e0)) * lanes
    ) AS stream_block,
    split_k,
    -- Depth to which the last stage is padded.
    step_k,
    stages,
    fill_k,
    is_staged,
    has_own_memory,
    fetches_tiles,
    held_rows,
    accumulator_rows,
    -- Memory that is too small for the tile: `register`, `tile`, or `array` for stationary weights or inputs; null if the tile fits
    -- or sizes are unknown.
    CASE
        WHEN dataflow = 'output_stationary' AND listed_m = 0e0 AND square_block > lanes
            AND 2e0 * (2e0 * element_byte + 4e0) * square_block * square_block > tile_memory_byte
            THEN 'tile'
        ELSE overflowing_level
    END AS overflowing_level,
    tile_memory_byte,
    -- Rate at which all units load tiles; on parts without tile memories, from the last-level cache; null when unknown. [byte/s]
    COALESCE(tile_memory_byte_per_s, load_byte_per_s) AS tile_memory_byte_per_s,
    stream_memory_byte,
    stream_memory_byte_per_s,
    load_unit_byte_per_s,
    stream_unit_byte_per_s,
    fed_array_hz,
    -- Longest time to fill and drain a tile; null when the clock is unknown. [s]
    fill_clock / NULLIF(clock_hz, 0e0) AS longest_fill_s,
    exposed_fill,
    -- Time from the kernel's start to its first step and from its last step to its end. [s]
    COALESCE(latency_clock / NULLIF(clock_hz, 0e0), 0e0) AS start_s,
    wave_quantization_fraction,
    -- Share of the peak that a tile sustains on this unit once its pipeline is full.
    sustained_fraction,
    -- Share of the peak that the tile sustains if the tile memory limits the unit.
    filled_fraction
FROM fed_tiles
