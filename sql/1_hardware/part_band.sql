-- Error band of a run by part, backend, batch class and quantity: the most specific row of `prediction_band`, by scope first (part,
-- family, any), then by backend, then by batch class.
-- Grain: hardware, backend, batch_class, quantity
CREATE TABLE part_band AS
WITH faulty_rows AS (
    SELECT DISTINCT row_key FROM rule_fault
    WHERE kind = 'prediction_band' AND NOT is_possible
),

run_bands AS (
    SELECT * EXCLUDE (median_error_fraction)
    FROM prediction_band
    WHERE quantity IN ('latency', 'energy')
),

scoped_rows AS (
    SELECT h.hardware, p.*, 200 AS scope_rank
    FROM run_bands AS p
    INNER JOIN hardware AS h ON p.scope = CONCAT('hardware:', h.hardware)
    UNION ALL
    SELECT h.hardware, p.*, 100 AS scope_rank
    FROM run_bands AS p
    INNER JOIN hardware AS h ON p.scope = CONCAT('family:', h.family)
    UNION ALL
    SELECT h.hardware, p.*, 0 AS scope_rank
    FROM run_bands AS p
    INNER JOIN hardware AS h ON p.scope = '*'
),

matching_rows AS (
    SELECT
        s.hardware,
        b.backend,
        c.batch_class,
        s.quantity,
        {
            'low_factor': s.low_factor, 'high_factor': s.high_factor, 'part_count': s.part_count,
            'is_possible': f.row_key IS NULL
        } AS band,
        h.family,
        s.scope_rank,
        s.scope_rank
        + CASE WHEN s.backend = '*' THEN 0 ELSE 2 END
        + CASE WHEN s.batch_class = '*' THEN 0 ELSE 1 END AS specificity
    FROM scoped_rows AS s
    INNER JOIN supported_backend AS b ON b.hardware = s.hardware AND s.backend IN ('*', b.row_backend)
    INNER JOIN batch_class AS c ON s.batch_class IN ('*', c.batch_class)
    INNER JOIN hardware AS h ON h.hardware = s.hardware
    LEFT JOIN faulty_rows AS f ON f.row_key = CONCAT(s.scope, '.', s.backend, '.', s.batch_class, '.', s.quantity)
),

closest_rows AS (
    SELECT
        hardware,
        backend,
        batch_class,
        quantity,
        MAX_BY(band, specificity) AS band,
        MIN(family) AS family,
        MAX(scope_rank) AS scope_rank
    FROM matching_rows
    GROUP BY hardware, backend, batch_class, quantity
)

SELECT
    hardware,
    backend,
    batch_class,
    -- Predicted quantity: `latency` or `energy`.
    quantity,
    -- Tenth percentile of measured / predicted; null if the row has an impossible number (`rule_fault`).
    CASE WHEN band.is_possible THEN band.low_factor END AS low_factor,
    -- Ninetieth percentile of measured / predicted; null if the row has an impossible number.
    CASE WHEN band.is_possible THEN band.high_factor END AS high_factor,
    -- True if the band comes from measurements of the part itself.
    scope_rank = 200 AS is_part_measured,
    -- Origin of the band in words: measurements of the part, of other parts of its family or backend, or assumed factors.
    CASE
        WHEN scope_rank = 200 THEN 'part measured'
        WHEN scope_rank = 100 THEN CONCAT('part not measured; ', family, ': ', CAST(band.part_count AS VARCHAR), ' parts')
        WHEN band.part_count = 0
            THEN CONCAT(
                'not measured: factors ', CAST(band.low_factor AS VARCHAR), ' and ', CAST(band.high_factor AS VARCHAR), ' are assumed'
            )
        ELSE CONCAT('backend not measured; all: ', CAST(band.part_count AS VARCHAR), ' parts')
    END AS band_basis
FROM closest_rows
