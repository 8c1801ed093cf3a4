-- Precisions in which a run on a part is compared with others: all that its backend executes, except those whose weights are
-- floating-point numbers of fewer bits than the part computes in.
-- Grain: hardware, backend, precision
CREATE VIEW compared_precision AS
WITH narrow_weights AS (
    SELECT y.policy AS precision, MIN(w.bits) AS bits
    FROM precision_policy AS y
    INNER JOIN precision AS w ON w.precision = y.weight_precision
    INNER JOIN precision AS c ON c.precision = y.compute_precision
    WHERE y.rule = 'drop' AND w.kind = 'float' AND w.bits < c.bits
    GROUP BY y.policy
),

native_formats AS (
    SELECT r.hardware, MIN(n.bits) AS bits
    FROM part_rate AS r
    INNER JOIN precision AS n ON n.precision = r.compute_precision
    WHERE r.is_native AND n.kind = 'float'
    GROUP BY r.hardware
)

SELECT
    t.hardware,
    t.backend,
    t.precision
FROM part_support AS t
LEFT JOIN narrow_weights AS w ON w.precision = t.precision
LEFT JOIN native_formats AS f ON f.hardware = t.hardware
WHERE w.precision IS NULL OR COALESCE(f.bits <= w.bits, FALSE)
