-- Operators with wrong steps: a view with steps, or a sized operator without steps.
-- Grain: model, operator_id
CREATE VIEW operator_without_step AS
SELECT
    o.model,
    o.operator_id,
    o.operator,
    o.is_view,
    -- Number of steps of the operator.
    COUNT(p.step) AS step_count
FROM operator AS o
LEFT JOIN operator_step AS p ON p.model = o.model AND p.operator_id = o.operator_id
WHERE o.rule IS NOT NULL
GROUP BY o.model, o.operator_id, o.operator, o.is_view
HAVING (o.is_view AND COUNT(p.step) > 0) OR (NOT o.is_view AND COUNT(p.step) = 0)
