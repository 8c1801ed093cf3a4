-- Steps that are no products, on the vector units (`vector_time`).
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_vector_steps AS
SELECT
    p.*,
    -- Time of those steps at full efficiency. [s]
    COALESCE(v.vector_ideal_s, 0e0) AS vector_ideal_s,
    -- Time of an operation on a vector unit, of the slowest step. [s]
    COALESCE(v.vector_op_s, 0e0) AS vector_op_s,
    -- Time of those steps at the vector units' peak. [s]
    COALESCE(v.vector_naive_s, 0e0) AS vector_naive_s,
    -- Energy of those steps; null when a coefficient is missing. [J]
    CASE WHEN v.shape_id IS NULL THEN 0e0 ELSE v.vector_energy_j END AS vector_energy_j,
    -- Units that get work of the widest step; 0 without one.
    COALESCE(v.vector_units_allocated, 0e0) AS vector_units_allocated
FROM cost_paging AS p
LEFT JOIN vector_time AS v
    ON v.model = p.model AND v.backend = p.backend AND v.precision = p.precision AND v.batch = p.batch
    AND v.sequence = p.sequence AND v.scenario_id = p.scenario_id AND v.shape_id = p.shape_id
    AND v.hardware = p.hardware
