-- How many stored runs of each model on each part have their answers at hand (`answer.model_report` and its like), and how many
-- lack them since a fact that they rest on has changed: `charz refresh`, and the next command that writes, fill them.
-- Grain: model, hardware
CREATE VIEW answer_state AS
WITH asked_runs AS (
    SELECT
        r.run.model,
        t.hardware,
        COUNT(*) AS run_count
    FROM run AS r
    INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision GROUP BY r.run.model, t.hardware
),

answered_runs AS (
    SELECT
        model,
        hardware,
        COUNT(*) AS answered_count
    FROM answer.stored
    GROUP BY model, hardware
),

named_reasons AS (
    SELECT
        m.model,
        a.hardware,
        MIN(a.reason) AS reason
    FROM missing_answer AS a
    INNER JOIN model AS m ON a.model IN ('*', m.model)
    WHERE a.backend = '*' AND a.precision = '*'
    GROUP BY m.model, a.hardware
)

SELECT
    m.model,
    h.hardware,
    -- Stored runs of the model that the part executes.
    COALESCE(a.run_count, 0) AS run_count,
    -- Those whose answers are at hand.
    COALESCE(s.answered_count, 0) AS answered_count,
    -- Those whose answers are missing.
    COALESCE(a.run_count, 0) - COALESCE(s.answered_count, 0) AS missing_count,
    -- Why no stored run of the model answers on the part; null where one does.
    r.reason
FROM model AS m
CROSS JOIN hardware AS h
LEFT JOIN asked_runs AS a ON a.model = m.model AND a.hardware = h.hardware
LEFT JOIN answered_runs AS s ON s.model = m.model AND s.hardware = h.hardware
LEFT JOIN named_reasons AS r ON r.model = m.model AND r.hardware = h.hardware
