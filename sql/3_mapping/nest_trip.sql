-- Trips of the loops of every loop nest, the share of a convolution's columns that a tile loads, and the folds of the inner tile
-- over the array with their steps. Rows of the array take the reduction for stationary weights or inputs, and rows of the product
-- for stationary results (SCALE-Sim, Samajdar et al. 2020). A row-stationary array computes in sets of elements (Eyeriss, Chen et
-- al. 2016).
-- Grain: loop_nest_id
CREATE VIEW nest_trip AS
WITH placed_nests AS (
    SELECT
        l.* EXCLUDE (split_k),
        CAST(COALESCE(l.split_k, 1) AS DOUBLE) AS split_k,
        r.element_byte,
        COALESCE(r.matrix_unit_count, r.unit_count) AS array_count,
        r.matrix_array_rows,
        r.matrix_array_columns,
        r.accumulator_byte,
        COALESCE(r.accumulator_rows, 0e0) AS accumulator_rows,
        r.matrix_ops_per_s,
        r.matrix_op_j,
        r.tile_memory_byte_per_s,
        COALESCE(r.tile_memory_byte, r.tile_memory_pool_byte / NULLIF(r.unit_count, 0e0)) AS inner_capacity_byte,
        -- A memory shared by several arrays belongs to none of them, and is the outer memory on parts without a larger memory.
        h.cache_level IS NOT NULL
        AND (
            h.tile_memory_level IS NULL
            OR (h.cache_level = h.tile_memory_level AND r.tile_memory_pool_byte IS NOT NULL AND array_count > 1e0)
        ) AS draws_from_outer,
        CASE WHEN draws_from_outer OR h.cache_level <> h.tile_memory_level THEN h.cache_byte END AS outer_capacity_byte,
        h.cache_byte_per_s,
        h.dram_byte_per_s, h.dram_j_per_byte,
        h.cache_j_per_byte,
        h.tile_j_per_byte,
        h.static_w,
        CEIL(l.m / NULLIF(CAST(l.outer_m AS DOUBLE), 0e0)) AS outer_trips_m,
        CEIL(l.n / NULLIF(CAST(l.outer_n AS DOUBLE), 0e0)) AS outer_trips_n,
        CEIL(l.k / NULLIF(CAST(l.outer_k AS DOUBLE), 0e0)) AS outer_trips_k,
        CEIL(l.outer_m / NULLIF(CAST(l.inner_m AS DOUBLE), 0e0)) AS inner_trips_m,
        CEIL(l.outer_n / NULLIF(CAST(l.inner_n AS DOUBLE), 0e0)) AS inner_trips_n,
        CEIL(l.outer_k / NULLIF(CAST(l.inner_k AS DOUBLE), 0e0)) AS inner_trips_k,
        -- Side and stride of a square kernel over a square image.
        SQRT(CAST(COALESCE(l.taps, 1) AS DOUBLE)) AS window_side,
        COALESCE(SQRT(CAST(l.image AS DOUBLE) * l.taps / NULLIF(CAST(l.m AS DOUBLE) * l.k * l.gemm_count, 0e0)), 1e0) AS stride,
        -- Side of the image of results.
        SQRT(CAST(l.m AS DOUBLE) / NULLIF(CAST(l.images AS DOUBLE), 0e0)) AS side
    FROM loop_nest AS l
    INNER JOIN part_rate AS r
        ON r.hardware = l.hardware AND r.backend = l.backend AND r.compute_precision = l.compute_precision
    INNER JOIN part AS h ON h.hardware = l.hardware
    WHERE r.matrix_array_rows IS NOT NULL AND r.matrix_ops_per_s IS NOT NULL
),

-- Result rows of one image in a row-stationary tile, and its images.
striped_nests AS (
    SELECT
        *,
        LEAST(side, inner_m / NULLIF(side, 0e0)) AS strip_rows,
        GREATEST(1e0, inner_m / NULLIF(side * side, 0e0)) AS strip_images,
        CEIL(inner_n / NULLIF(CAST(element_n AS DOUBLE), 0e0)) * CEIL(inner_k / NULLIF(window_side * element_k, 0e0)) AS wanted_sets
    FROM placed_nests
),

-- A set of elements of a row-stationary array, as high as a window and as wide as a strip of result rows, computes some filters and
-- channels. Several sets share the array; a strip wider than the array is folded into sets above each other.
oriented_nests AS (
    SELECT
        *,
        FLOOR(
            FLOOR(matrix_array_rows / NULLIF(window_side, 0e0))
            * GREATEST(1e0, FLOOR(matrix_array_columns / NULLIF(strip_rows, 0e0)))
            / NULLIF(CEIL(strip_rows / NULLIF(matrix_array_columns, 0e0)), 0e0)
        ) AS array_sets,
        CASE WHEN dataflow IN ('output_stationary', 'wavefront') THEN inner_m ELSE inner_k END AS on_rows,
        CASE WHEN dataflow = 'input_stationary' THEN inner_m ELSE inner_n END AS on_columns,
        CASE
            WHEN dataflow = 'weight_stationary' THEN inner_m
            WHEN dataflow = 'input_stationary' THEN inner_n
            ELSE inner_k
        END AS streamed
    FROM striped_nests
)

SELECT
    * EXCLUDE (
        on_rows, on_columns, streamed, strip_rows, strip_images, wanted_sets, array_sets,
        window_side, stride, side, array_count, draws_from_outer, outer_capacity_byte, inner_capacity_byte,
        outer_trips_m, outer_trips_n, outer_trips_k, inner_trips_m, inner_trips_n, inner_trips_k, split_k
    ),
    -- Number of slices of the depth that output-stationary arrays share.
    split_k,
    -- Number of arrays of the part.
    array_count,
    -- True if arrays have no separate memory and read operands from the shared memory for every pass.
    draws_from_outer,
    -- Capacity of the memory shared by all units; null for parts whose arrays have the only on-chip memory. [byte]
    outer_capacity_byte,
    -- Capacity of an array's own memory, or of its part of the shared one; null when unknown. [byte]
    inner_capacity_byte,
    -- Trips of the loop over rows of outer tiles.
    outer_trips_m,
    -- Trips of the loop over columns of outer tiles.
    outer_trips_n,
    -- Trips of the loop over depths of outer tiles.
    outer_trips_k,
    -- Trips of the loop over rows of inner tiles within an outer one.
    inner_trips_m,
    -- Trips of the loop over columns of inner tiles within an outer one.
    inner_trips_n,
    -- Trips of the loop over depths of inner tiles within an outer one.
    inner_trips_k,
    -- Share of an outer tile's columns of input that is loaded; overlapping windows share the rest.
    halo_share(taps, image, outer_m, outer_k, m, k, gemm_count) AS outer_halo_fraction,
    -- Share of an inner tile's columns of input that is loaded; a row-stationary tile is a strip of whole result rows.
    CASE
        WHEN dataflow = 'row_stationary'
            THEN LEAST(
                1e0,
                ((strip_rows - 1e0) * stride + window_side) * ((side - 1e0) * stride + window_side)
                / NULLIF(strip_rows * side * taps, 0e0)
            )
        ELSE halo_share(taps, image, inner_m, inner_k, m, k, gemm_count)
    END AS inner_halo_fraction,
    -- Number of rows of a window.
    window_side,
    -- Number of pixels from one window to the next.
    stride,
    -- Number of result rows of an image.
    side,
    -- Number of images in an inner tile of a row-stationary array.
    strip_images,
    -- Number of elements of a row-stationary array that work at once, in sets as high as a window and as wide as a strip; null for
    -- other dataflows, and for tiles that need more sets than fit the array.
    CASE
        WHEN dataflow = 'row_stationary' AND wanted_sets <= array_sets THEN wanted_sets * window_side * strip_rows
    END AS active_elements,
    -- Number of times that one inner tile fills the array along its rows; null if it needs more sets than fit the array.
    CASE
        WHEN dataflow = 'row_stationary' THEN CASE WHEN wanted_sets <= array_sets THEN 1e0 END
        ELSE CEIL(on_rows / NULLIF(matrix_array_rows, 0e0))
    END AS row_folds,
    -- Number of times that one inner tile fills the array along its columns.
    CASE
        WHEN dataflow = 'row_stationary' THEN 1e0
        ELSE CEIL(on_columns / NULLIF(matrix_array_columns, 0e0))
    END AS column_folds,
    -- Number of cycles in which an operand streams through the array in one fold; in a row-stationary array, products of one
    -- element.
    CASE
        WHEN dataflow = 'row_stationary' THEN side * strip_images * element_n * element_k
        ELSE CAST(streamed AS DOUBLE)
    END AS streamed_steps
FROM oriented_nests
