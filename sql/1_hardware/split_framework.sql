-- Framework that trains a split on each backend: the one that it names, else the default of the backend, or of the one whose kernels
-- that captures.
-- Grain: backend, split
CREATE VIEW split_framework AS
SELECT
    b.backend,
    d.split,
    -- Framework whose factors hold.
    COALESCE(d.framework, MAX_BY(f.framework, CASE WHEN f.backend = '*' THEN 0 ELSE 1 END)) AS framework
FROM device_split AS d
CROSS JOIN backend AS b
LEFT JOIN framework AS f ON f.is_default AND f.backend IN ('*', COALESCE(b.captures, b.backend))
GROUP BY b.backend, d.split, d.framework
