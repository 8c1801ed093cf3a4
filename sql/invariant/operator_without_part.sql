-- Operators whose parts do not fit what they are: a view with work, or a sized operator without any.
-- Grain: model_id, operator_id
CREATE VIEW operator_without_part (
    -- Model.
    model_id,
    -- Operator.
    operator_id,
    -- Node in the graph.
    operator,
    -- True when it moves nothing.
    is_view,
    -- Parts it has.
    part_count
) AS
SELECT
    o.model_id,
    o.operator_id,
    o.operator,
    o.is_view,
    COUNT(p.part) AS part_count
FROM operator AS o
LEFT JOIN operator_part AS p ON p.model_id = o.model_id AND p.operator_id = o.operator_id
WHERE o.rule IS NOT NULL
GROUP BY o.model_id, o.operator_id, o.operator, o.is_view
HAVING (o.is_view AND COUNT(p.part) > 0) OR (NOT o.is_view AND COUNT(p.part) = 0)
