-- The products of a shape with the tile they run with (`tile_choice`).
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_tile AS
SELECT
    p.* EXCLUDE (number_fault, vector_step_count),
    -- Why nothing is said of the kernel: a number of the part that cannot be, a step that it has no rate for, or a memory that
    -- holds no tile of its products; null where there is no such thing. The steps between two products of an attention that
    -- goes by blocks of queries are part of them.
    CASE
        WHEN p.number_fault IS NULL AND p.query_count IS NULL AND p.vector_step_count < p.step_count - p.product_count
            THEN 'no rate for a step'
        WHEN p.number_fault IS NULL AND p.product_count > 0 AND c.shape_id IS NULL THEN 'no tile fits'
        ELSE p.number_fault
    END AS fault,
    -- Number of the chosen tile; 0 without a product.
    COALESCE(c.candidate, 0) AS candidate,
    COALESCE(c.matrix_ideal_s, 0e0) AS matrix_ideal_s,
    COALESCE(c.direct_ideal_s, 0e0) AS direct_ideal_s,
    COALESCE(c.matrix_op_s, 0e0) AS matrix_op_s,
    COALESCE(c.direct_op_s, 0e0) AS direct_op_s,
    COALESCE(c.matrix_naive_s, 0e0) AS matrix_naive_s,
    COALESCE(c.direct_naive_s, 0e0) AS direct_naive_s,
    CASE WHEN c.shape_id IS NULL THEN 0e0 ELSE c.product_energy_j END AS product_energy_j,
    -- Bytes the memories next to the units load from the last-level cache. [byte]
    GREATEST(COALESCE(c.reload_byte, 0e0), p.staged_byte) AS reload_byte,
    -- Time in which they do. [s]
    GREATEST(COALESCE(c.reload_s, 0e0), p.staged_load_s) AS reload_s,
    -- Bytes that stream from there to the arithmetic and back, where buffers between them are told apart. [byte]
    GREATEST(COALESCE(c.stream_byte, 0e0) + p.vector_stream_byte, p.passing_byte) AS stream_byte,
    -- Time in which they do. [s]
    GREATEST(COALESCE(c.stream_s, 0e0) + p.vector_stream_s, p.passing_s) AS stream_s,
    -- Units that get work; all of them where the kernel has no steps.
    CASE
        WHEN p.step_count = 0 THEN p.unit_count
        ELSE GREATEST(COALESCE(c.units_allocated, 0e0), p.vector_units_allocated)
    END AS units_allocated
FROM cost_border AS p
LEFT JOIN tile_choice AS c
    ON c.model = p.model AND c.backend = p.backend AND c.precision = p.precision AND c.batch = p.batch
    AND c.sequence = p.sequence AND c.scenario_id = p.scenario_id AND c.shape_id = p.shape_id
    AND c.hardware = p.hardware
