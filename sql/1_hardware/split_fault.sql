-- Impossible or implausible numbers of the rules that apply to a split over devices on a backend.
-- Grain: backend, split
CREATE VIEW split_fault AS
SELECT
    y.backend,
    d.split,
    -- True if any of the numbers is impossible.
    BOOL_OR(NOT f.is_possible) AS is_impossible,
    -- Field names of the numbers.
    STRING_AGG(f.field, ', ' ORDER BY f.field) AS implausible
FROM device_split AS d
INNER JOIN split_framework AS y ON y.split = d.split
INNER JOIN report_fault AS f
    ON f.kind = 'network' OR (f.kind = 'device_split' AND f.row_key = d.split)
    OR (f.kind = 'framework' AND f.row_key = y.framework) OR (f.kind = 'optimizer' AND f.row_key = d.optimizer)
GROUP BY y.backend, d.split
