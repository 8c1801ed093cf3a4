-- Backend and precision policy proposed for each part when a question names neither: the part's default backend if it supports a
-- policy, and a policy that uses one precision throughout.
-- Grain: hardware
CREATE VIEW part_proposal AS
WITH supported_targets AS (
    SELECT
        t.hardware,
        t.backend,
        t.precision,
        CASE WHEN b.is_default THEN 0 ELSE 1 END + CASE WHEN p.precision IS NULL THEN 2 ELSE 0 END AS distance
    FROM part_support AS t
    INNER JOIN supported_backend AS b ON b.hardware = t.hardware AND b.backend = t.backend
    LEFT JOIN precision AS p ON p.precision = t.precision
),

ranked_targets AS (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY hardware ORDER BY distance, backend, precision) AS choice
    FROM supported_targets
)

SELECT
    hardware,
    backend,
    precision
FROM ranked_targets
WHERE choice = 1
