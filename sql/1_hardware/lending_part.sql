-- For each part and backend of `efficiency` the part whose own rows stand in, as assumed, where it has none: one of the same
-- die whose units do as much in half precision, within a quarter, and of these the nearest in memory bandwidth. Without it
-- a part that was measured would differ from its siblings by what was learned of it alone. Both parts are compared as their
-- files state them (`shipped_part`): an edit never changes the lender.
-- Grain: hardware, backend
CREATE VIEW lending_part AS
WITH measured_parts AS (
    SELECT DISTINCT s.hardware, s.architecture, s.dram_byte_per_s, s.unit_ops_per_s, e.backend
    FROM shipped_part AS s
    INNER JOIN efficiency AS e ON e.scope = CONCAT('hardware:', s.hardware)
),

ranked_lenders AS (
    SELECT
        b.hardware,
        l.backend,
        l.hardware AS lender,
        ROW_NUMBER() OVER (
            PARTITION BY b.hardware, l.backend
            ORDER BY ABS(LN(b.dram_byte_per_s / NULLIF(l.dram_byte_per_s, 0e0))), l.hardware
        ) AS lender_rank
    FROM shipped_part AS b
    INNER JOIN measured_parts AS l ON l.architecture = b.architecture AND l.hardware <> b.hardware
    LEFT JOIN measured_parts AS own ON own.hardware = b.hardware AND own.backend = l.backend
    WHERE own.hardware IS NULL
        AND CASE
            WHEN b.unit_ops_per_s IS NULL AND l.unit_ops_per_s IS NULL THEN TRUE
            ELSE COALESCE(b.unit_ops_per_s / NULLIF(l.unit_ops_per_s, 0e0) BETWEEN 0.8e0 AND 1.25e0, FALSE)
        END
)

SELECT
    hardware,
    backend,
    -- Part whose rows hold.
    lender
FROM ranked_lenders
WHERE lender_rank = 1
