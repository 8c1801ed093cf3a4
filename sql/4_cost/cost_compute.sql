-- Arithmetic: matrix and vector units work at the same time. If the modelled tiles lose more than the library's tiles, a kernel
-- class may be faster than the modelled tiles, but not faster than the peak of all units (`naive_s`).
-- Grain: run, shape_id, hardware
CREATE VIEW cost_compute AS
SELECT
    *,
    -- Naive time: all units at their peak, without memory. Peaks apply at the clock of the part's default power mode, which may
    -- differ from the clock of the datasheet's peaks. [s]
    GREATEST(matrix_naive_s, direct_naive_s + vector_naive_s) AS naive_s,
    -- Time of the arithmetic: the time of the slower kind of unit, at least `naive_s`. [s]
    GREATEST(matrix_s, vector_s, naive_s) AS compute_s,
    -- Share of the peak that remains after losses from tile shapes and wave quantization: ratio of `naive_s` to the time of the
    -- busier kind of unit at full efficiency; 1 without arithmetic.
    COALESCE(naive_s / NULLIF(GREATEST(matrix_ideal_s, direct_ideal_s + vector_ideal_s), 0e0), 1e0) AS utilization_fraction,
    -- Roofline bound: the longer of the operations at the peak rate and the main-memory bytes at the peak bandwidth (Williams et
    -- al. 2009). [s]
    GREATEST(naive_s, dram_byte / NULLIF(dram_byte_per_s, 0e0)) AS roofline_s,
    -- Energy of the arithmetic; null when a coefficient is missing. [J]
    product_energy_j + vector_energy_j AS compute_energy_j
FROM cost_vector
