-- Peaks of every part: dense ones, stated and derived, and those of products with structured sparsity (2:4 weights) where the part
-- states one or its architecture has a ratio to the dense peak (`sparse_ratio`). Products are counted with their zeros.
-- Grain: hardware, precision, unit, accumulator
CREATE VIEW part_peak AS
SELECT hardware, precision, unit, accumulator, instruction, cluster, peak_ops_per_s FROM stated_peak
UNION ALL
SELECT hardware, precision, unit, accumulator, CAST(NULL AS VARCHAR) AS instruction, cluster, peak_ops_per_s
FROM derived_vector
UNION ALL
SELECT k.hardware, p.precision, k.unit, k.accumulator, k.instruction, k.cluster, k.peak_ops_per_s * r.value AS peak_ops_per_s
FROM stated_peak AS k
INNER JOIN precision AS p ON p.fallback = k.precision
INNER JOIN part_rule AS r ON r.hardware = k.hardware AND r.quantity = 'sparse_ratio' AND r.row_key = p.precision
LEFT JOIN stated_peak AS o ON o.hardware = k.hardware AND o.precision = p.precision AND o.unit = k.unit AND o.accumulator = k.accumulator
WHERE k.unit = 'matrix' AND o.hardware IS NULL
