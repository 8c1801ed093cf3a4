-- Precision policies that comparisons on a part include: all that the backend executes, except policies whose floating-point
-- weights have fewer bits than any native floating-point format of the part and are converted before use.
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
