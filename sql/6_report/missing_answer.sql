-- Reason for a missing answer: for any model on a part (`part_lack`), for a model on a part, or for a model on a part under a
-- backend and precision at any batch. `*` means all. Without a matching row, there is an answer.
-- Grain: model, hardware, backend, precision
CREATE VIEW missing_answer AS
WITH ranked_lacks AS (
    SELECT
        *,
        CASE lack
            WHEN 'family' THEN 0
            WHEN 'backend' THEN 1
            WHEN 'rate' THEN 2
            WHEN 'number' THEN 3
            WHEN 'memory' THEN 4
            WHEN 'tile' THEN 5
            ELSE 6
        END AS lack_rank
    FROM part_lack
    WHERE lack <> 'energy'
),

part_reasons AS (
    SELECT
        hardware,
        backend,
        reason,
        next,
        ROW_NUMBER() OVER (PARTITION BY hardware, backend ORDER BY lack_rank, lack) AS choice
    FROM ranked_lacks
),

-- Element types in which a model's steps compute. An answer is missing if the part lacks a rate for one of these types, or a tile
-- for a product.
needed_types AS (
    SELECT
        run, compute_precision, MAX(CASE WHEN is_product THEN 1 ELSE 0 END) AS has_product
    FROM shape_step
    GROUP BY run, compute_precision
),

fitting_tiles AS (
    SELECT DISTINCT hardware, backend, compute_precision
    FROM part_tile
    WHERE overflowing_level IS NULL AND dataflow <> 'query_block'
),

lacking_runs AS (
    SELECT
        n.run,
        t.hardware,
        MIN(CASE WHEN r.hardware IS NULL THEN n.compute_precision END) AS rateless_precision,
        MIN(CASE WHEN n.has_product = 1 AND f.hardware IS NULL THEN n.compute_precision END) AS tileless_precision
    FROM needed_types AS n
    INNER JOIN part_support AS t ON t.backend = n.run.backend AND t.precision = n.run.precision
    LEFT JOIN part_rate AS r
        ON r.hardware = t.hardware AND r.backend = t.backend AND r.compute_precision = n.compute_precision
    LEFT JOIN fitting_tiles AS f
        ON f.hardware = t.hardware AND f.backend = t.backend AND f.compute_precision = n.compute_precision
    GROUP BY n.run, t.hardware
),

explained_runs AS (
    SELECT
        r.run.model,
        t.hardware,
        r.run.backend,
        r.run.precision,
        CASE
            WHEN l.rateless_precision IS NOT NULL
                THEN CONCAT('a kernel of the model needs ', l.rateless_precision, ', for which the part has no rate')
            WHEN l.tileless_precision IS NOT NULL
                THEN CONCAT('no memory of the part fits a tile of a product in ', l.tileless_precision)
            WHEN r.power <> 'default' AND r.power_w IS NULL AND m.hardware IS NULL
                THEN CONCAT('the part has no power mode ', r.power)
            WHEN m.hardware IS NULL AND r.power_w < g.least_w
                THEN CONCAT('the part cannot be set to ', r.power, ': its lowest limit is ', FORMAT('{:g}', g.least_w), ' W')
        END AS run_reason,
        CASE
            WHEN l.rateless_precision IS NOT NULL
                THEN CONCAT('state a peak in ', l.rateless_precision, ' (hardware_peak) if it has one, or ask for another precision')
            WHEN l.tileless_precision IS NOT NULL THEN 'state the memory on the chip (hardware_memory)'
            ELSE 'name one of its modes (hardware_power), or a limit as `150w`'
        END AS run_next
    FROM run AS r
    INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
    LEFT JOIN lacking_runs AS l ON l.run = r.run AND l.hardware = t.hardware
    LEFT JOIN hardware_power AS m ON m.hardware = t.hardware AND m.mode = r.power
    LEFT JOIN power_range AS g ON g.hardware = t.hardware
    WHERE t.fault IS NULL
),

run_parts AS (
    SELECT DISTINCT r.run.model, t.hardware
    FROM run AS r
    INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
),

reached_parts AS (
    SELECT DISTINCT t.hardware
    FROM part_support AS t
    INNER JOIN scenario AS s ON s.backend = t.backend AND s.precision = t.precision
)

SELECT
    '*' AS model,
    hardware,
    backend,
    '*' AS precision,
    -- Reason for the missing answer.
    reason,
    -- Next thing to do.
    next
FROM part_reasons
WHERE choice = 1
UNION ALL
SELECT
    m.model,
    p.hardware,
    '*' AS backend,
    '*' AS precision,
    'no stored scenario of the part is valid for the model: its batch or sequence is fixed, it trains, or has no context' AS reason,
    CONCAT('add one with `charz scenario add --batch ', CAST(m.default_batch AS VARCHAR), '` and a backend of the part') AS next
FROM model AS m
CROSS JOIN reached_parts AS p
LEFT JOIN run_parts AS r ON r.model = m.model AND r.hardware = p.hardware
WHERE r.model IS NULL
UNION ALL
SELECT
    model,
    hardware,
    backend,
    precision,
    MIN(run_reason) AS reason,
    MIN(run_next) AS next
FROM explained_runs
GROUP BY model, hardware, backend, precision
HAVING COUNT(*) = COUNT(run_reason)
