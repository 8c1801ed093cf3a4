-- Backend and precision policy in which a question runs a part if it names neither: the first precision that the part's family
-- assumes and the part executes, else single precision as the backend runs it by default.
-- Grain: hardware
CREATE VIEW default_target AS
WITH wanted_precisions AS (
    SELECT
        t.hardware,
        COALESCE(
            MAX(CASE WHEN t.precision = f.assumed_precision THEN t.precision END),
            MAX(CASE WHEN t.precision = f.second_precision THEN t.precision END),
            'fp32'
        ) AS precision
    FROM part_support AS t
    INNER JOIN hardware_family AS f ON f.family = t.family
    GROUP BY t.hardware
),

chosen_backends AS (
    SELECT
        w.hardware,
        w.precision,
        -- The names of families whose rows mark no default decide in alphabetical order, as in a question.
        COALESCE(MAX(a.backend), MIN(s.backend)) AS backend
    FROM wanted_precisions AS w
    INNER JOIN supported_backend AS s ON s.hardware = w.hardware AND NOT s.serves AND NOT s.is_counterpart
    INNER JOIN part_support AS t ON t.hardware = s.hardware AND t.backend = s.backend AND t.precision = w.precision
    LEFT JOIN assumed_backend AS a ON a.hardware = t.hardware AND a.precision = t.precision AND a.backend = t.backend
    GROUP BY w.hardware, w.precision
)

SELECT
    c.hardware,
    c.backend,
    -- Precision policy.
    CASE WHEN c.precision = 'fp32' THEN COALESCE(u.precision, c.precision) ELSE c.precision END AS precision
FROM chosen_backends AS c
LEFT JOIN part_support AS u ON u.hardware = c.hardware AND u.backend = c.backend AND u.precision = u.default_precision
