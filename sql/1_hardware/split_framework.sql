-- Training framework of a split on each backend: the framework that the split names, else the default of the backend, or of the
-- backend whose kernels it captures as a graph.
-- Grain: backend, split
CREATE VIEW split_framework AS
WITH chosen_frameworks AS (
    SELECT
        b.backend,
        d.split,
        COALESCE(d.framework, MAX_BY(f.framework, CASE WHEN f.backend = '*' THEN 0 ELSE 1 END)) AS framework
    FROM device_split AS d
    CROSS JOIN backend AS b
    LEFT JOIN framework AS f ON f.is_default AND f.backend IN ('*', COALESCE(b.captures, b.backend))
    GROUP BY b.backend, d.split, d.framework
)

SELECT
    c.backend,
    c.split,
    -- Training framework whose overlap and overhead factors apply.
    c.framework,
    -- True for the ideal framework, which belongs to no backend.
    COALESCE(f.backend = '*', FALSE) AS is_ideal
FROM chosen_frameworks AS c
LEFT JOIN framework AS f ON f.framework = c.framework
