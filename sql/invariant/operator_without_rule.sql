-- Operators that no rule sizes: their work is unknown, not zero. `charz models --unsized` counts them.
-- Grain: model, operator_id
CREATE VIEW operator_without_rule AS
SELECT
    model,
    operator_id,
    operator,
    aten_operator
FROM operator
WHERE rule IS NULL
