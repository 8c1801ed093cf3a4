-- Vector units: all arithmetic except products, and products that run on vector units.
-- Term: vector, engine, , , vector_fraction, vector_s, vector_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_vector AS
SELECT
    *,
    -- Time of the vector units: operations divided by peak, utilization and efficiency. [s]
    unit_time(direct_ideal_s + vector_ideal_s, vector_half_ops, GREATEST(direct_op_s, vector_op_s), vector_fraction) AS vector_s
FROM cost_matrix
