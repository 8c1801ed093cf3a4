-- Number of stored runs of each model on each part with and without stored answers (such as `answer.model_report`). A change of a
-- fact deletes the answers that depend on it; `charz refresh`, or the next command that writes, computes them again.
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
    -- Number of stored runs of the model that the part executes.
    COALESCE(a.run_count, 0) AS run_count,
    -- Number of stored runs with answers.
    COALESCE(s.answered_count, 0) AS answered_count,
    -- Number of stored runs without answers.
    COALESCE(a.run_count, 0) - COALESCE(s.answered_count, 0) AS missing_count,
    -- Reason why no stored run of the model has an answer on the part; null if any stored run has an answer.
    r.reason
FROM model AS m
CROSS JOIN hardware AS h
LEFT JOIN asked_runs AS a ON a.model = m.model AND a.hardware = h.hardware
LEFT JOIN answered_runs AS s ON s.model = m.model AND s.hardware = h.hardware
LEFT JOIN named_reasons AS r ON r.model = m.model AND r.hardware = h.hardware
