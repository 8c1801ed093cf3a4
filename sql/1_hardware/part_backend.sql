-- What a part under a backend shares with others, so that it is evaluated once for all of them: rows of `efficiency`, and the way in
-- which backends use its units.
-- Grain: hardware, backend
CREATE TABLE part_backend AS
WITH linked_backends AS (
    SELECT
        hardware,
        backend,
        STRING_AGG(CONCAT(scope, CASE WHEN row_backend = '*' THEN '' ELSE CONCAT('/', row_backend) END), ' ' ORDER BY link_rank) AS chain
    FROM efficiency_link
    GROUP BY hardware, backend
)

SELECT
    s.hardware,
    s.backend,
    -- Groups of rows of `efficiency` that hold, scope and backend, the most general first; `none` without rows.
    COALESCE(l.chain, 'none') AS efficiency_chain,
    s.arithmetic
FROM backend_arithmetic AS s
LEFT JOIN linked_backends AS l ON l.hardware = s.hardware AND l.backend = s.backend
