-- Part that lends its `efficiency` rows, as assumed, to a part without rows for the backend, so that siblings do not differ only by
-- who was measured. The lender has the same die and half-precision rates within a quarter, and is the nearest in memory bandwidth.
-- Both parts are compared by their files (`shipped_part`): an edit never changes the lender.
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
    -- Part whose rows apply.
    lender
FROM ranked_lenders
WHERE lender_rank = 1
