-- Dense peak of every part at every precision on its vector and matrix units. A precision without a rate falls back along
-- `precision.fallback`, with `fallback_operations` operations for each original operation; a part that computes only in integers
-- uses `precision.integer_stand_in`, and a part with neither fp16 nor fp32 takes bf16 in place of fp16. Peaks with half-precision
-- accumulators are separate columns, because only some backends use them (`backend_support.calls_library`).
-- Grain: hardware, precision
CREATE VIEW hardware_rate AS
WITH fallback_chain AS (
    SELECT precision, precision AS executed, 0 AS hops, 1e0 AS operations FROM precision
    UNION ALL
    SELECT a.precision, a.fallback AS executed, 1 AS hops, a.fallback_operations AS operations
    FROM precision AS a
    UNION ALL
    SELECT a.precision, b.fallback AS executed, 2 AS hops, a.fallback_operations * b.fallback_operations AS operations
    FROM precision AS a
    INNER JOIN precision AS b ON b.precision = a.fallback
    UNION ALL
    SELECT
        a.precision, c.fallback AS executed, 3 AS hops, a.fallback_operations * b.fallback_operations * c.fallback_operations AS operations
    FROM precision AS a
    INNER JOIN precision AS b ON b.precision = a.fallback
    INNER JOIN precision AS c ON c.precision = b.fallback
    UNION ALL
    SELECT precision, 'bf16' AS executed, 3 AS hops, 1e0 AS operations
    FROM precision
    WHERE 'fp16' IN (precision, fallback)
    UNION ALL
    SELECT precision, integer_stand_in AS executed, 4 AS hops, 1e0 AS operations
    FROM precision
),

floating_parts AS (
    SELECT k.hardware, COUNT(*) FILTER (WHERE k.precision IN ('fp16', 'fp32')) > 0 AS is_wide
    FROM part_peak AS k
    INNER JOIN precision AS p ON p.precision = k.precision
    WHERE p.kind = 'float'
    GROUP BY k.hardware
),

executed_peaks AS (
    SELECT
        k.hardware,
        f.precision,
        f.hops,
        k.unit,
        k.accumulator IN ('fp16', 'bf16') AS sums_in_half,
        k.accumulator = 'fp16' AND k.unit = 'matrix' AS is_half_matrix,
        {
            'executed': f.executed,
            'ops_per_s': k.peak_ops_per_s * COALESCE(p.clock_fraction, 1e0) / NULLIF(f.operations, 0e0),
            'operations': f.operations,
            'unit_count': a.unit_count, 'performance_fraction': k.performance_fraction,
            'array_rows': a.array_rows, 'array_columns': a.array_columns, 'accumulator_rows': a.accumulator_rows,
            'accumulator_byte': COALESCE(q.bits, w.bits) / 8e0
        } AS peak,
        -- The fallback with the fewest hops is chosen, then the highest peak, then the first accumulator by name.
        ROW(f.hops, -k.peak_ops_per_s * COALESCE(p.clock_fraction, 1e0), k.accumulator) AS peak_rank
    FROM fallback_chain AS f
    INNER JOIN part_peak AS k ON k.precision = f.executed
    INNER JOIN part_array AS a ON a.hardware = k.hardware AND a.cluster = k.cluster
    INNER JOIN precision AS e ON e.precision = f.executed
    LEFT JOIN precision AS q ON q.precision = k.accumulator
    LEFT JOIN precision AS w ON w.precision = e.accumulator
    LEFT JOIN floating_parts AS o ON o.hardware = k.hardware
    LEFT JOIN hardware_power AS p ON p.hardware = k.hardware AND p.is_default
    WHERE (f.hops < 4 OR o.hardware IS NULL) AND (f.hops <> 3 OR f.executed <> 'bf16' OR NOT o.is_wide)
),

preferred_peaks AS (
    SELECT
        hardware,
        precision,
        MIN_BY(peak, peak_rank) FILTER (WHERE unit = 'matrix' AND NOT is_half_matrix) AS matrix,
        MIN_BY(peak, peak_rank) FILTER (WHERE unit = 'matrix') AS half_matrix,
        MIN_BY(peak, peak_rank) FILTER (WHERE unit = 'vector') AS vector,
        MIN_BY(peak, peak_rank) FILTER (WHERE unit = 'vector' AND NOT sums_in_half) AS single_vector,
        MIN(hops) FILTER (WHERE NOT is_half_matrix) = 0 AS is_native
    FROM executed_peaks
    GROUP BY hardware, precision
    HAVING MIN(hops) FILTER (WHERE NOT is_half_matrix) IS NOT NULL
)

SELECT
    r.hardware,
    r.precision,
    -- Peak of the matrix units; null without a matrix peak for this precision. [ops/s]
    r.matrix.ops_per_s AS matrix_ops_per_s,
    -- Peak of the matrix units with half-precision accumulators allowed; null without a matrix peak for this precision. [ops/s]
    r.half_matrix.ops_per_s AS half_matrix_ops_per_s,
    -- Element type that the matrix units compute in; null without a peak for this precision.
    r.matrix.executed AS matrix_precision,
    -- Number of units that together reach the matrix peak; null without a peak for this precision.
    r.matrix.unit_count AS matrix_unit_count,
    -- Rows of the units' arrays; 1 for units without an array, null without a peak for this precision.
    r.matrix.array_rows AS matrix_array_rows,
    -- Columns of the units' arrays; 1 for units without an array, null without a peak for this precision.
    r.matrix.array_columns AS matrix_array_columns,
    -- Number of partial sums that each column of an array keeps in an accumulator memory; null without a peak for this precision.
    r.matrix.accumulator_rows AS accumulator_rows,
    -- Size of a partial sum: of the accumulator of the peak, else of the usual accumulator of the element type; null without a peak
    -- for this precision. [byte]
    r.matrix.accumulator_byte AS accumulator_byte,
    -- Energy of a matrix operation; null when unknown. [J]
    m.value * r.matrix.operations AS matrix_op_j,
    -- Peak of the vector units. [ops/s]
    r.vector.ops_per_s AS vector_ops_per_s,
    -- Element type that the vector units compute in.
    r.vector.executed AS vector_precision,
    -- Number of units that together reach the vector peak; null without a peak for this precision.
    r.vector.unit_count AS vector_unit_count,
    -- Energy of a vector operation, at the matrix units' element type where the part has no vector peak; null when unknown. [J]
    v.value * COALESCE(r.vector.operations, r.matrix.operations) AS vector_op_j,
    -- Peak of the vector units with accumulators of single precision or wider. [ops/s]
    r.single_vector.ops_per_s AS single_vector_ops_per_s,
    -- Element type that the vector units compute in with accumulators of single precision or wider.
    r.single_vector.executed AS single_vector_precision,
    -- Number of units that together reach `single_vector_ops_per_s`; null without a peak for this precision.
    r.single_vector.unit_count AS single_vector_unit_count,
    -- Share of `vector_ops_per_s` that the performance cores reach; null if all cores are alike.
    r.vector.performance_fraction AS performance_fraction,
    -- Share of `single_vector_ops_per_s` that the performance cores reach; null if all cores are alike.
    r.single_vector.performance_fraction AS single_performance_fraction,
    -- Energy of a vector operation at `single_vector_precision`, or at the matrix units' element type where the part has no such
    -- peak; null when unknown. [J]
    s.value * COALESCE(r.single_vector.operations, r.matrix.operations) AS single_vector_op_j,
    -- True if the part executes the precision without a fallback on either kind of unit.
    r.is_native
FROM preferred_peaks AS r
LEFT JOIN part_energy AS m
    ON m.hardware = r.hardware AND m.what = 'op' AND m.key = CONCAT(r.matrix.executed, '.matrix')
LEFT JOIN part_energy AS v
    ON v.hardware = r.hardware AND v.what = 'op'
    AND v.key = CONCAT(COALESCE(r.vector.executed, r.matrix.executed), '.vector')
LEFT JOIN part_energy AS s
    ON s.hardware = r.hardware AND s.what = 'op'
    AND s.key = CONCAT(COALESCE(r.single_vector.executed, r.matrix.executed), '.vector')

