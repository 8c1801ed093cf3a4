-- Operators that no rule sizes: their work is unknown, not zero. `charz coverage` counts them.
-- Grain: model_id, operator_id
CREATE VIEW operator_without_rule (
    -- Model.
    model_id,
    -- Operator.
    operator_id,
    -- Name of the model.
    model,
    -- Node in the graph.
    operator,
    -- ATen overload it calls.
    target
) AS
SELECT
    o.model_id,
    o.operator_id,
    m.model,
    o.operator,
    o.target
FROM operator AS o
INNER JOIN model AS m ON m.model_id = o.model_id
WHERE o.rule IS NULL
