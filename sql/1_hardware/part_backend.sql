-- Keys by which parts and backends share evaluated rows: the chain of groups of `efficiency` rows, and the arithmetic of the
-- backend (`backend_arithmetic`).
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
    -- Chain of groups of `efficiency` rows that apply, each written as scope and backend, the most general first; `none` without
    -- rows.
    COALESCE(l.chain, 'none') AS efficiency_chain,
    s.arithmetic
FROM backend_arithmetic AS s
LEFT JOIN linked_backends AS l ON l.hardware = s.hardware AND l.backend = s.backend
