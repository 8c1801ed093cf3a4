-- Models with an unexpected graph: the numbers of convolutions, attentions and so on differ from the architecture's profile
-- (`model_profile`), or, for any model, there are neither operations nor outputs.
-- Grain: model, what
CREATE VIEW profile_mismatch AS
WITH worked AS (
    SELECT
        m.model,
        'work' AS what,
        CAST(1 AS BIGINT) AS expected,
        COUNT(t.operator_id) AS found
    FROM model AS m
    LEFT JOIN term AS t ON t.model = m.model AND t.quantity = 'threads'
    GROUP BY m.model
    UNION ALL
    SELECT
        m.model,
        'output' AS what,
        CAST(1 AS BIGINT) AS expected,
        COUNT(t.tensor_id) AS found
    FROM model AS m
    LEFT JOIN tensor AS t ON t.model = m.model AND t.is_output
    GROUP BY m.model
)
SELECT
    model,
    -- Counted operator class, or `work` or `output`.
    operator_class AS what,
    -- Expected number; for `work` and `output`, the least number.
    expected,
    -- Number found in the graph.
    found
FROM model_profile
WHERE found <> expected
UNION ALL
SELECT
    model,
    what,
    expected,
    found
FROM worked
WHERE found < expected
