-- Trips of the loops of every loop nest, the share of a convolution's columns that a tile really loads, and what its array does:
-- folds of the inner tile over the array and the steps of each. Rows of the array take the reduction where weights or inputs stay
-- and rows of the product where results stay (SCALE-Sim, Samajdar et al. 2020). Where rows stay (Eyeriss, Chen et al. 2016) a set
-- of elements, as high as a window and as wide as a strip of rows of results, works on some filters and channels; several sets lie
-- over and beside each other, and a strip that is wider than the array is folded into sets above each other.
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
        r.matrix_ops_per_s,
        r.matrix_op_j,
        r.tile_memory_byte_per_s,
        COALESCE(r.tile_memory_byte, r.tile_memory_pool_byte / NULLIF(r.unit_count, 0e0)) AS inner_capacity_byte,
        -- A memory of several arrays lies beside none of them, and is the outer one where nothing lies behind it.
        h.cache_level IS NOT NULL
        AND (
            h.tile_memory_level IS NULL
            OR (h.cache_level = h.tile_memory_level AND r.tile_memory_pool_byte IS NOT NULL AND array_count > 1e0)
        ) AS draws_from_outer,
        CASE WHEN draws_from_outer OR h.cache_level <> h.tile_memory_level THEN h.cache_byte END AS outer_capacity_byte,
        h.cache_byte_per_s,
        h.dram_byte_per_s,
        h.dram_j_per_byte,
        h.cache_j_per_byte,
        h.tile_j_per_byte,
        h.static_w,
        CEIL(l.m / NULLIF(CAST(l.outer_m AS DOUBLE), 0e0)) AS outer_trips_m,
        CEIL(l.n / NULLIF(CAST(l.outer_n AS DOUBLE), 0e0)) AS outer_trips_n,
        CEIL(l.k / NULLIF(CAST(l.outer_k AS DOUBLE), 0e0)) AS outer_trips_k,
        CEIL(l.outer_m / NULLIF(CAST(l.inner_m AS DOUBLE), 0e0)) AS inner_trips_m,
        CEIL(l.outer_n / NULLIF(CAST(l.inner_n AS DOUBLE), 0e0)) AS inner_trips_n,
        CEIL(l.outer_k / NULLIF(CAST(l.inner_k AS DOUBLE), 0e0)) AS inner_trips_k,
        -- Stride and side of a square kernel over a square image.
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

-- Rows of results of one image that a row-stationary tile has, and images.
striped_nests AS (
    SELECT
        *,
        LEAST(side, inner_m / NULLIF(side, 0e0)) AS strip_rows,
        GREATEST(1e0, inner_m / NULLIF(side * side, 0e0)) AS strip_images,
        CEIL(inner_n / NULLIF(CAST(element_n AS DOUBLE), 0e0)) * CEIL(inner_k / NULLIF(window_side * element_k, 0e0)) AS wanted_sets
    FROM placed_nests
),

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
    -- Slices of the depth that arrays share where results stay.
    split_k,
    -- Arrays of the part.
    array_count,
    -- True where no memory lies beside an array: it draws operands from the one that all share, for every pass.
    draws_from_outer,
    -- What the memory that all units share holds; null where the part has none beside those at the arrays. [byte]
    outer_capacity_byte,
    -- What the memory beside an array holds, or its part of the shared one; null when unknown. [byte]
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
    -- Share of an outer tile's columns of input that are loaded: overlapping windows share the rest.
    halo_share(taps, image, outer_m, outer_k, m, k, gemm_count) AS outer_halo_fraction,
    -- Share of an inner tile's columns of input that are loaded; where rows stay a tile is a strip of whole rows of results.
    CASE
        WHEN dataflow = 'row_stationary'
            THEN LEAST(
                1e0,
                ((strip_rows - 1e0) * stride + window_side) * ((side - 1e0) * stride + window_side)
                / NULLIF(strip_rows * side * taps, 0e0)
            )
        ELSE halo_share(taps, image, inner_m, inner_k, m, k, gemm_count)
    END AS inner_halo_fraction,
    -- Rows of a window.
    window_side,
    -- Pixels from one window to the next.
    stride,
    -- Rows of results of an image.
    side,
    -- Images that an inner tile has results of; of row-stationary arrays.
    strip_images,
    -- Elements at work at a time where rows stay, a set as high as a window and as wide as a strip; null of other dataflows, and of
    -- tiles that want more sets than the array has room for.
    CASE
        WHEN dataflow = 'row_stationary' AND wanted_sets <= array_sets THEN wanted_sets * window_side * strip_rows
    END AS active_elements,
    -- Times that the array is filled for one inner tile along its rows; null where it wants more sets than the array has room for.
    CASE
        WHEN dataflow = 'row_stationary' THEN CASE WHEN wanted_sets <= array_sets THEN 1e0 END
        ELSE CEIL(on_rows / NULLIF(matrix_array_rows, 0e0))
    END AS row_folds,
    -- Times that the array is filled for one inner tile along its columns.
    CASE
        WHEN dataflow = 'row_stationary' THEN 1e0
        ELSE CEIL(on_columns / NULLIF(matrix_array_columns, 0e0))
    END AS column_folds,
    -- Steps in which an operand streams through the array, one fold; where rows stay, products of one element.
    CASE
        WHEN dataflow = 'row_stationary' THEN side * strip_images * element_n * element_k
        ELSE CAST(streamed AS DOUBLE)
    END AS streamed_steps
FROM oriented_nests
