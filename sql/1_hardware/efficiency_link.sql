-- Groups of `efficiency` rows that a part uses under a backend, ranked. A group has a scope (the part, a sibling part in
-- `lending_part`, the architecture, the family, or any) and a backend. Rows of the backend itself rank above rows of another
-- backend (`backend_support.efficiency_backend`); an unfused counterpart uses the rows of the backend that it is compared with.
-- Grain: hardware, backend, scope, row_backend
CREATE VIEW efficiency_link AS
WITH part_scopes AS (
    -- A sibling part lends the rows of one backend.
    SELECT hardware, CONCAT('hardware:', hardware) AS scope, NULL AS of_backend, 4 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('hardware:', lender) AS scope, backend AS of_backend, 3 AS scope_rank FROM lending_part
    UNION ALL
    SELECT hardware, CONCAT('architecture:', architecture) AS scope, NULL AS of_backend, 2 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('family:', family) AS scope, NULL AS of_backend, 1 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, '*' AS scope, NULL AS of_backend, 0 AS scope_rank FROM hardware
),

accepted_backends AS (
    SELECT hardware, backend, '*' AS row_backend, 0 AS backend_rank FROM supported_backend
    UNION ALL
    SELECT hardware, backend, row_backend, 16 AS backend_rank FROM supported_backend
    UNION ALL
    SELECT hardware, backend, efficiency_backend AS row_backend, 8 AS backend_rank
    FROM supported_backend
    WHERE efficiency_backend IS NOT NULL
),

listed_groups AS (
    SELECT DISTINCT scope, backend AS row_backend FROM efficiency
)

SELECT
    s.hardware,
    a.backend,
    g.scope,
    -- Backend of the rows, or `*`.
    g.row_backend,
    -- Rank of the group by scope and backend; the group with the highest rank applies.
    CAST(s.scope_rank * 100 + a.backend_rank AS BIGINT) AS link_rank
FROM part_scopes AS s
INNER JOIN listed_groups AS g ON g.scope = s.scope AND COALESCE(g.row_backend = s.of_backend, TRUE)
INNER JOIN accepted_backends AS a ON a.hardware = s.hardware AND a.row_backend = g.row_backend
