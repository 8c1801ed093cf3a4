-- Sibling part that lends its `efficiency` rows, labelled `assumed`, to a part without rows for the backend, so that siblings do
-- not differ only because one was measured. The lender has the same die, half-precision rates within a quarter, and the nearest
-- memory bandwidth. Shares that a part file states for every backend and kernel class are a claim about that part, and are not lent.
-- Parts are compared by the numbers in their catalog files (`shipped_part`), so that an edit never changes the lender.
-- Grain: hardware, backend
CREATE VIEW lending_part AS
WITH measured_parts AS (
    SELECT DISTINCT s.hardware, s.architecture, s.dram_byte_per_s, s.unit_ops_per_s, e.backend
    FROM shipped_part AS s
    INNER JOIN efficiency AS e ON e.scope = CONCAT('hardware:', s.hardware)
    WHERE e.backend <> '*' OR e.kernel_class <> '*'
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
    -- Part that lends its rows.
    lender
FROM ranked_lenders
WHERE lender_rank = 1
