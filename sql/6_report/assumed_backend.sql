-- Backend assumed on a part in a precision if the user names none.
-- Grain: hardware, precision
CREATE VIEW assumed_backend AS
WITH candidates AS (
    SELECT
        t.hardware,
        t.precision,
        t.backend,
        d.backend IS NOT NULL AS is_by_kind,
        CASE WHEN d.backend IS NULL THEN 0 ELSE 1 END
        + CASE WHEN d.vendor <> '*' THEN 1 ELSE 0 END
        + CASE WHEN d.market <> '*' THEN 1 ELSE 0 END
        + CASE WHEN d.precision <> '*' THEN 1 ELSE 0 END AS fitness
    FROM part_support AS t
    INNER JOIN supported_backend AS s ON s.hardware = t.hardware AND s.backend = t.backend
    INNER JOIN hardware AS h ON h.hardware = t.hardware
    LEFT JOIN default_backend AS d
        ON d.family = h.family AND d.vendor IN ('*', h.vendor) AND d.market IN ('*', h.market)
        AND d.precision IN ('*', t.precision) AND d.backend = t.backend
    WHERE NOT s.serves AND (s.is_default OR d.backend IS NOT NULL)
),

ranked AS (
    SELECT
        hardware,
        precision,
        backend,
        is_by_kind,
        ROW_NUMBER() OVER (PARTITION BY hardware, precision ORDER BY fitness DESC, backend) AS place
    FROM candidates
)

SELECT
    hardware,
    precision,
    backend,
    -- True if a row of `default_backend` names the backend, false if it is the default of the part's family.
    is_by_kind
FROM ranked
WHERE place = 1
