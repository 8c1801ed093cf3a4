-- Key under which the efficiency of each element type is looked up: the type's name if `efficiency` has rows for the type, else
-- `*`.
-- Grain: compute_precision
CREATE TABLE efficiency_precision AS
WITH listed_classes AS (
    SELECT DISTINCT precision_class FROM efficiency
)

SELECT
    -- Element type.
    p.precision AS compute_precision,
    -- Name of the element type, or `*`.
    COALESCE(l.precision_class, '*') AS precision_class
FROM precision AS p
LEFT JOIN listed_classes AS l ON l.precision_class = p.precision
