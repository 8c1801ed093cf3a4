-- The products of a shape with the tile they run with (`tile_choice`).
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_tile AS
SELECT
    p.*,
    -- Number of the chosen tile; 0 without a product.
    COALESCE(c.candidate, 0) AS candidate,
    -- Time of its products on the matrix units at full efficiency. [s]
    COALESCE(c.matrix_ideal_s, 0e0) AS matrix_ideal_s,
    -- Time of its products on the vector units at full efficiency. [s]
    COALESCE(c.direct_ideal_s, 0e0) AS direct_ideal_s,
    -- Time of an operation on a matrix unit, over all products. [s]
    COALESCE(c.matrix_op_s, 0e0) AS matrix_op_s,
    -- Time of an operation on a vector unit, of the slowest product. [s]
    COALESCE(c.direct_op_s, 0e0) AS direct_op_s,
    -- Time of its products at the matrix units' peak. [s]
    COALESCE(c.matrix_naive_s, 0e0) AS matrix_naive_s,
    -- Time of its products at the vector units' peak. [s]
    COALESCE(c.direct_naive_s, 0e0) AS direct_naive_s,
    -- Energy of its products; null when a coefficient is missing. [J]
    CASE WHEN c.shape_id IS NULL THEN 0e0 ELSE c.product_energy_j END AS product_energy_j,
    -- Traffic of the memories next to the units: operands again for every tile. [byte]
    COALESCE(c.reload_byte, 0e0) AS reload_byte,
    -- Units that get work; all of them where the kernel has no steps.
    CASE
        WHEN p.step_count = 0 THEN p.unit_count
        ELSE GREATEST(COALESCE(c.units_allocated, 0e0), p.vector_units_allocated)
    END AS units_allocated
FROM cost_vector_steps AS p
LEFT JOIN tile_choice AS c
    ON c.model = p.model AND c.backend = p.backend AND c.precision = p.precision AND c.batch = p.batch
    AND c.sequence = p.sequence AND c.scenario_id = p.scenario_id AND c.shape_id = p.shape_id
    AND c.hardware = p.hardware
