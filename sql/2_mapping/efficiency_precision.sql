-- Class under which the efficiency of each precision is looked up: its own name where `efficiency` has rows for
-- it, else `*`.
-- Grain: precision
CREATE VIEW efficiency_precision (
    -- Element type.
    precision,
    -- Its own name, or `*`.
    precision_class
) AS
WITH listed_classes AS (
    SELECT DISTINCT precision_class FROM efficiency
)

SELECT
    p.precision,
    COALESCE(l.precision_class, '*') AS precision_class
FROM precision AS p
LEFT JOIN listed_classes AS l ON l.precision_class = p.precision
