-- Peak of the vector units for every part that states no such peak: from the number of lanes if the part states it, else a share of
-- the matrix units' peak.
-- Grain: hardware, precision, unit, accumulator
CREATE VIEW derived_vector AS
WITH parts_without_vector AS (
    SELECT hardware
    FROM hardware_peak
    GROUP BY hardware
    HAVING SUM(CASE WHEN unit = 'vector' THEN 1 ELSE 0 END) = 0
),

lane_peaks AS (
    SELECT h.hardware, r.derivation_rule, r.row_key, r.value * b.value AS peak_ops_per_s
    FROM parts_without_vector AS v
    INNER JOIN hardware AS h ON h.hardware = v.hardware
    INNER JOIN derivation_rule AS r
        ON r.family = h.family AND r.quantity = 'peak.peak_ops_per_s' AND r.basis = 'unit_lane_clock'
    INNER JOIN part_basis AS b ON b.hardware = h.hardware AND b.basis = r.basis
),

fastest_peaks AS (
    SELECT
        k.hardware,
        k.precision,
        MAX_BY(k.cluster, k.peak_ops_per_s) AS cluster,
        MAX(k.peak_ops_per_s) AS peak_ops_per_s
    FROM stated_peak AS k
    INNER JOIN parts_without_vector AS v ON v.hardware = k.hardware
    LEFT JOIN lane_peaks AS l ON l.hardware = k.hardware
    WHERE l.hardware IS NULL
    GROUP BY k.hardware, k.precision
),

-- The derived peak keeps the precision of the matrix peak, so that the part runs no precision that its matrix units lack. Half
-- precisions are preferred, then int8, then the fastest precision.
ranked_peaks AS (
    SELECT
        *,
        DENSE_RANK() OVER (
            PARTITION BY hardware
            ORDER BY
                CASE WHEN precision IN ('fp16', 'bf16') THEN 0 WHEN precision = 'int8' THEN 1 ELSE 2 END,
                CASE WHEN precision IN ('fp16', 'bf16') THEN 0e0 ELSE -peak_ops_per_s END
        ) AS choice
    FROM fastest_peaks
)

SELECT
    hardware,
    SPLIT_PART(row_key, '.', 1) AS precision,
    SPLIT_PART(row_key, '.', 2) AS unit,
    SPLIT_PART(row_key, '.', 3) AS accumulator,
    'all' AS cluster,
    derivation_rule,
    -- Dense peak of the whole part. [ops/s]
    peak_ops_per_s
FROM lane_peaks
UNION ALL
SELECT
    k.hardware,
    k.precision,
    'vector' AS unit,
    p.accumulator,
    k.cluster,
    r.derivation_rule,
    r.value * k.peak_ops_per_s AS peak_ops_per_s
FROM ranked_peaks AS k
INNER JOIN precision AS p ON p.precision = k.precision
INNER JOIN derivation_rule AS r ON r.quantity = 'peak.peak_ops_per_s' AND r.basis = 'matrix_peak'
WHERE k.choice = 1
