-- For each part and backend of `efficiency` the part whose own rows stand in, as assumed, where it has none: one of the same
-- die whose units do as much in half precision, within a quarter, and of these the nearest in memory bandwidth. Without it
-- a part that was measured would differ from its siblings by what was learned of it alone.
-- Grain: hardware, backend
CREATE VIEW lending_part AS
WITH part_rates AS (
    SELECT
        h.hardware,
        h.architecture,
        MAX(m.bandwidth_byte_per_s) AS dram_byte_per_s,
        MAX(k.peak_ops_per_s) / NULLIF(MAX(c.unit_count), 0e0) AS unit_ops_per_s
    FROM hardware AS h
    LEFT JOIN hardware_memory AS m ON m.hardware = h.hardware AND m.level = 'dram'
    LEFT JOIN part_peak AS k
        ON k.hardware = h.hardware AND k.precision = 'fp16' AND k.unit = 'matrix' AND k.accumulator = 'fp32'
    LEFT JOIN hardware_cluster AS c ON c.hardware = h.hardware
    GROUP BY h.hardware, h.architecture
),

measured_parts AS (
    SELECT DISTINCT r.*, e.backend
    FROM part_rates AS r
    INNER JOIN efficiency AS e ON e.scope = CONCAT('hardware:', r.hardware)
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
    FROM part_rates AS b
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

