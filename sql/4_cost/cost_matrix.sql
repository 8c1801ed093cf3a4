-- Matrix units: the time of the tiles divided by the efficiency that kernels of the class attain at this size. At `matrix_half_ops`
-- operations per unit, kernels attain half of the efficiency of large kernels.
-- Term: matrix, engine, , , matrix_fraction, matrix_s, product_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_matrix AS
SELECT
    *,
    -- Time of the matrix units: operations divided by peak, utilization and efficiency. [s]
    unit_time(matrix_ideal_s, matrix_half_ops, matrix_op_s, matrix_fraction) AS matrix_s
FROM cost_memory
