-- Peaks of every part, stated or derived: dense peaks, and peaks of products with structured sparsity (2:4 weights;
-- `derived_sparse`).
-- Grain: hardware, precision, unit, accumulator
CREATE VIEW part_peak AS
SELECT hardware, precision, unit, accumulator, instruction, cluster, performance_fraction, peak_ops_per_s FROM stated_peak
UNION ALL
SELECT hardware, precision, unit, accumulator, CAST(NULL AS VARCHAR) AS instruction, cluster, CAST(NULL AS DOUBLE) AS performance_fraction, peak_ops_per_s
FROM derived_vector
UNION ALL
SELECT hardware, precision, unit, accumulator, instruction, cluster, CAST(NULL AS DOUBLE) AS performance_fraction, peak_ops_per_s FROM derived_sparse
