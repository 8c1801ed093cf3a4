-- For each part and backend of `efficiency` the part whose own rows stand in, as assumed, where it has none: one of the same
-- die whose units do as much in half precision, within a quarter, and of these the nearest in memory bandwidth. Without it
-- a part that was measured would differ from its siblings by what was learned of it alone.
-- Grain: hardware_id, backend
CREATE VIEW lending_part (
    -- Part that borrows.
    hardware_id,
    -- Backend of the rows, as in `efficiency`; `*` for those of any.
    backend,
    -- Part whose rows hold.
    lender_id
) AS
WITH measured_parts AS (
    SELECT DISTINCT h.hardware_id, h.architecture, e.backend
    FROM hardware AS h
    INNER JOIN efficiency AS e ON e.scope = CONCAT('hardware:', h.hardware_id)
),

unit_rates AS (
    SELECT u.hardware_id, u.dram_byte_per_s, r.matrix_ops_per_s / NULLIF(u.unit_count, 0e0) AS unit_ops_per_s
    FROM hardware_unit AS u
    LEFT JOIN hardware_rate AS r ON r.hardware_id = u.hardware_id AND r.precision = 'fp16'
),

ranked_lenders AS (
    SELECT
        h.hardware_id,
        m.backend,
        m.hardware_id AS lender_id,
        ROW_NUMBER() OVER (
            PARTITION BY h.hardware_id, m.backend
            ORDER BY ABS(LN(b.dram_byte_per_s / NULLIF(l.dram_byte_per_s, 0e0))), m.hardware_id
        ) AS place
    FROM hardware AS h
    INNER JOIN measured_parts AS m ON m.architecture = h.architecture AND m.hardware_id <> h.hardware_id
    INNER JOIN unit_rates AS b ON b.hardware_id = h.hardware_id
    INNER JOIN unit_rates AS l ON l.hardware_id = m.hardware_id
    LEFT JOIN measured_parts AS own ON own.hardware_id = h.hardware_id AND own.backend = m.backend
    WHERE own.hardware_id IS NULL
        AND COALESCE(b.unit_ops_per_s / NULLIF(l.unit_ops_per_s, 0e0) BETWEEN 0.8e0 AND 1.25e0, TRUE)
)

SELECT hardware_id, backend, lender_id
FROM ranked_lenders
WHERE place = 1
