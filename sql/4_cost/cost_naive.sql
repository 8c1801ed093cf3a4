-- The peak of all units, with no memory: both kinds of unit work at once.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_naive AS
SELECT
    *,
    -- Time at the peak of all units with no memory: the naive figure. [s]
    GREATEST(matrix_naive_s, direct_naive_s + vector_naive_s) AS naive_s,
    -- Share of the peak that shapes and wave quantization leave: naive_s over the time of the busier kind of unit at full
    -- efficiency; 1 without arithmetic.
    COALESCE(
        GREATEST(matrix_naive_s, direct_naive_s + vector_naive_s)
        / NULLIF(GREATEST(matrix_ideal_s, direct_ideal_s + vector_ideal_s), 0e0), 1e0
    ) AS utilization_fraction
FROM cost_vector
