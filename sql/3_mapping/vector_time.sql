-- Time and traffic of the vector steps of a shape: all steps that are not products.
-- Grain: run, shape_id, hardware
CREATE VIEW vector_time AS
SELECT
    run,
    shape_id,
    hardware,
    -- Number of vector steps for which the part has a rate.
    COUNT(*) AS vector_step_count,
    -- Time of the vector steps at full efficiency. [s]
    SUM(ideal_s) AS vector_ideal_s,
    -- Time of an operation on a vector unit, for the slowest step. [s]
    MAX(CASE WHEN flops > 0e0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS vector_op_s,
    -- Time of the vector steps at the vector units' peak. [s]
    SUM(flops / NULLIF(peak_ops_per_s, 0e0)) AS vector_naive_s,
    -- Energy of the vector steps; null when a coefficient is missing. [J]
    SUM(flops * op_j) + CASE WHEN COUNT(*) > COUNT(op_j) THEN NULL ELSE 0e0 END AS vector_energy_j,
    -- Bytes that stream from the tile memory for the vector steps. [byte]
    SUM(stream_byte) AS vector_stream_byte,
    -- Time to stream `vector_stream_byte`. [s]
    SUM(stream_s) AS vector_stream_s,
    -- Number of units that get work in the step that uses the most units.
    MAX(units_allocated) AS vector_units_allocated
FROM vector_step
GROUP BY run, shape_id, hardware
