-- Rooflines of a part at each precision, as points to draw: each is the smaller of the peak of a kind of unit and a memory
-- bandwidth times the arithmetic intensity (Williams et al. 2009).
-- Grain: hardware, precision, roof, point
CREATE VIEW roofline_roof AS
WITH tens AS (
    SELECT -2e0 AS ten UNION ALL SELECT -1e0 AS ten UNION ALL SELECT 0e0 AS ten UNION ALL SELECT 1e0 AS ten
    UNION ALL SELECT 2e0 AS ten UNION ALL SELECT 3e0 AS ten UNION ALL SELECT 4e0 AS ten
),

tenths AS (
    SELECT 0e0 AS tenth UNION ALL SELECT 1e-1 AS tenth UNION ALL SELECT 2e-1 AS tenth UNION ALL SELECT 3e-1 AS tenth
    UNION ALL SELECT 4e-1 AS tenth UNION ALL SELECT 5e-1 AS tenth UNION ALL SELECT 6e-1 AS tenth
    UNION ALL SELECT 7e-1 AS tenth UNION ALL SELECT 8e-1 AS tenth UNION ALL SELECT 9e-1 AS tenth
),

unit_peaks AS (
    SELECT
        r.hardware,
        r.precision,
        u.unit,
        CASE WHEN u.unit = 'matrix' THEN r.matrix_ops_per_s ELSE r.vector_ops_per_s END AS peak_ops_per_s
    FROM hardware_rate AS r
    INNER JOIN (SELECT 'matrix' AS unit UNION ALL SELECT 'vector' AS unit) AS u
        ON r.precision = CASE WHEN u.unit = 'matrix' THEN r.matrix_precision ELSE r.vector_precision END
    WHERE r.is_native
),

bandwidths AS (
    SELECT
        hardware,
        CASE WHEN is_main THEN 'main memory' ELSE cache_level END AS level,
        CASE WHEN is_main THEN dram_byte_per_s ELSE cache_byte_per_s END AS byte_per_s
    FROM part
    CROSS JOIN (SELECT TRUE AS is_main UNION ALL SELECT FALSE AS is_main) AS sides
),

roofs AS (
    SELECT
        p.hardware,
        p.precision,
        CONCAT(p.unit, ' ', p.precision, ', ', b.level) AS roof,
        p.peak_ops_per_s,
        b.byte_per_s
    FROM unit_peaks AS p
    INNER JOIN bandwidths AS b ON b.hardware = p.hardware
    WHERE p.peak_ops_per_s > 0e0 AND b.byte_per_s > 0e0
)

SELECT
    r.hardware,
    r.precision,
    -- Kind of roofline: `matrix` or `vector` units, with main memory or the last-level cache.
    r.roof,
    -- Number of the point, in order of intensity; the ridge point has number 50, after all others.
    CAST(ROUND(1e1 * (t.ten + h.tenth)) AS BIGINT) AS point,
    -- Arithmetic intensity of the point: operations per byte. [ops/byte]
    POWER(10e0, t.ten + h.tenth) AS arithmetic_intensity,
    -- Highest rate at this intensity. [ops/s]
    LEAST(r.peak_ops_per_s, r.byte_per_s * POWER(10e0, t.ten + h.tenth)) AS rate_ops_per_s
FROM roofs AS r
CROSS JOIN tens AS t
CROSS JOIN tenths AS h
UNION ALL
SELECT
    hardware,
    precision,
    roof,
    50 AS point,
    peak_ops_per_s / NULLIF(byte_per_s, 0e0) AS arithmetic_intensity,
    peak_ops_per_s AS rate_ops_per_s
FROM roofs

