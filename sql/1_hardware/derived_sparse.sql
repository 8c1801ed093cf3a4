-- Peaks of products with structured sparsity (2:4 weights) for every part that states no such peak, from the ratio to the dense
-- peak for its architecture (`sparse_ratio`). Operations on zeros are counted.
-- Grain: hardware, precision, unit, accumulator
CREATE VIEW derived_sparse AS
SELECT
    k.hardware,
    -- Format of the weights.
    p.precision,
    k.unit,
    k.accumulator,
    k.instruction,
    k.cluster,
    -- Ratio of the sparse peak to the dense peak.
    r.value AS sparse_ratio,
    -- Source of the ratio.
    r.source_id,
    -- Confidence in the ratio.
    r.confidence,
    -- Sparse peak of the whole part. [ops/s]
    k.peak_ops_per_s * r.value AS peak_ops_per_s
FROM stated_peak AS k
INNER JOIN precision AS p ON p.fallback = k.precision
INNER JOIN part_rule AS r ON r.hardware = k.hardware AND r.quantity = 'sparse_ratio' AND r.row_key = p.precision
LEFT JOIN stated_peak AS o
    ON o.hardware = k.hardware AND o.precision = p.precision AND o.unit = k.unit AND o.accumulator = k.accumulator
WHERE k.unit = 'matrix' AND o.hardware IS NULL
