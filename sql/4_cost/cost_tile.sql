-- Every shape on every part with the tile chosen for its products: the candidate with the fastest kernel (`tile_rank`). This choice
-- keeps time monotone in batch and in every resource.
-- Grain: run, shape_id, hardware
CREATE VIEW cost_tile AS
WITH chosen_tiles AS (
    SELECT
        run,
        shape_id,
        hardware,
        -- All rows of a shape have equal values in these columns. No later view reads the last three columns of the list, which
        -- Sail refuses in an aggregate.
        ANY_VALUE(COLUMNS(* EXCLUDE (
            run, shape_id, hardware, candidate, matrix_ideal_s, direct_ideal_s, matrix_op_s,
            direct_op_s, matrix_naive_s, direct_naive_s, product_energy_j, reload_byte, reload_s, fetch_byte, stream_byte, stream_s, units_allocated,
            first_level_s, compute_s, slowest_memory_s, tile_energy_j, dynamic_energy_j, unlimited_s, rank_s,
            fitting_groups, group_count, library_cached_byte
        ))),
        COUNT(candidate) AS candidate_count,
        MIN_BY(candidate, rank_s) AS chosen_candidate,
        MIN_BY(matrix_ideal_s, rank_s) AS chosen_matrix_ideal_s,
        MIN_BY(direct_ideal_s, rank_s) AS chosen_direct_ideal_s,
        MIN_BY(matrix_op_s, rank_s) AS chosen_matrix_op_s,
        MIN_BY(direct_op_s, rank_s) AS chosen_direct_op_s,
        MIN_BY(matrix_naive_s, rank_s) AS chosen_matrix_naive_s,
        MIN_BY(direct_naive_s, rank_s) AS chosen_direct_naive_s,
        -- MIN_BY skips nulls, so -1 replaces an unknown energy.
        NULLIF(MIN_BY(COALESCE(product_energy_j, -1e0), rank_s), -1e0) AS chosen_product_energy_j,
        MIN_BY(reload_byte, rank_s) AS chosen_reload_byte,
        MIN_BY(reload_s, rank_s) AS chosen_reload_s,
        MIN_BY(fetch_byte, rank_s) AS chosen_fetch_byte,
        MIN_BY(stream_byte, rank_s) AS chosen_stream_byte,
        MIN_BY(stream_s, rank_s) AS chosen_stream_s,
        MIN_BY(units_allocated, rank_s) AS chosen_units_allocated
    FROM tile_rank
    GROUP BY run, shape_id, hardware
)

SELECT
    * EXCLUDE (
        number_fault, vector_step_count, candidate_count, chosen_candidate, chosen_matrix_ideal_s, chosen_direct_ideal_s, chosen_matrix_op_s,
        chosen_direct_op_s, chosen_matrix_naive_s, chosen_direct_naive_s, chosen_product_energy_j, chosen_reload_byte, chosen_reload_s,
        chosen_fetch_byte, chosen_stream_byte, chosen_stream_s, chosen_units_allocated
    ),
    -- Reason why the kernel has no answer: an impossible number of the part, a step without a rate, or a memory too small for any
    -- tile of its products; else null. In attention by blocks of queries, steps between the two products count as parts of the
    -- products.
    CASE
        WHEN number_fault IS NULL AND query_count IS NULL AND vector_step_count < step_count - product_count
            THEN 'no rate for a step'
        WHEN number_fault IS NULL AND product_count > 0 AND candidate_count = 0 THEN 'no tile fits'
        ELSE number_fault
    END AS fault,
    -- Number of the chosen tile; 0 without a product.
    COALESCE(chosen_candidate, 0) AS candidate,
    COALESCE(chosen_matrix_ideal_s, 0e0) AS matrix_ideal_s,
    COALESCE(chosen_direct_ideal_s, 0e0) AS direct_ideal_s,
    COALESCE(chosen_matrix_op_s, 0e0) AS matrix_op_s,
    COALESCE(chosen_direct_op_s, 0e0) AS direct_op_s,
    COALESCE(chosen_matrix_naive_s, 0e0) AS matrix_naive_s,
    COALESCE(chosen_direct_naive_s, 0e0) AS direct_naive_s,
    CASE WHEN candidate_count = 0 THEN 0e0 ELSE chosen_product_energy_j END AS product_energy_j,
    -- Bytes that the tiles load from the memories next to the units, or from the last-level cache of a part without these. [byte]
    GREATEST(COALESCE(chosen_reload_byte, 0e0), staged_byte) AS reload_byte,
    -- Time to load `reload_byte`. [s]
    GREATEST(COALESCE(chosen_reload_s, 0e0), staged_load_s) AS reload_s,
    -- Bytes that units fetch from a memory shared by all units into their own; 0 without both memories. [byte]
    COALESCE(chosen_fetch_byte, 0e0) AS fetch_byte,
    -- Bytes that stream between the memories next to the units and the arithmetic; 0 if stream buffers are not modelled. [byte]
    GREATEST(COALESCE(chosen_stream_byte, 0e0) + vector_stream_byte, passing_byte) AS stream_byte,
    -- Time to stream `stream_byte`. [s]
    GREATEST(COALESCE(chosen_stream_s, 0e0) + vector_stream_s, passing_s) AS stream_s,
    -- Number of units that get work; all units for a kernel without steps.
    CASE
        WHEN step_count = 0 THEN unit_count
        ELSE GREATEST(COALESCE(chosen_units_allocated, 0e0), vector_units_allocated)
    END AS units_allocated
FROM chosen_tiles
