-- Peaks that a part states, scaled with edited units and clocks: a stated peak keeps its ratio to units * operations per clock *
-- clock. If a part states only these factors, the peak is their product.
-- Grain: hardware, precision, unit, accumulator
CREATE VIEW stated_peak AS
WITH products AS (
    SELECT
        k.hardware,
        k.precision,
        k.unit,
        k.accumulator,
        k.cluster,
        SUM(
            c.unit_count * COALESCE(k.ops_per_clock_per_unit, c.lanes, 1e0)
            * COALESCE(CASE WHEN k.unit = 'matrix' THEN c.clock_matrix_hz END, c.clock_boost_hz, 1e0)
        ) AS product
    FROM hardware_peak AS k
    INNER JOIN part_cluster AS c ON c.hardware = k.hardware AND (k.cluster = 'all' OR k.cluster = c.cluster)
    GROUP BY k.hardware, k.precision, k.unit, k.accumulator, k.cluster
)

SELECT
    k.hardware,
    k.precision,
    k.unit,
    k.accumulator,
    k.cluster,
    k.instruction,
    k.performance_fraction,
    -- Product of units, operations per clock and clock, with 1 for unknown factors, summed over clusters. [ops/s]
    p.product AS derived_ops_per_s,
    -- Dense peak of the whole part. [ops/s]
    COALESCE(
        k.peak_ops_per_s * COALESCE(p.product / NULLIF(COALESCE(s.derived_value, k.derived_ops_per_s), 0e0), 1e0),
        CASE WHEN k.ops_per_clock_per_unit IS NOT NULL THEN p.product END
    ) AS peak_ops_per_s
FROM hardware_peak AS k
LEFT JOIN products AS p
    ON p.hardware = k.hardware AND p.precision = k.precision AND p.unit = k.unit AND p.accumulator = k.accumulator
LEFT JOIN restated_number AS s
    ON s.hardware = k.hardware
    AND s.field = CONCAT('peak.', k.precision, '.', k.unit, '.', k.accumulator, '.peak_ops_per_s')
