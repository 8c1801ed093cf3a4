-- Operators whose ATen operator has efficiency rows of its own (`aten.gelu`): a kernel anchored in one is looked up
-- by that name, which wins over its class.
-- Grain: model_id, operator_id
CREATE VIEW efficiency_operator (
    -- Model.
    model_id,
    -- Operator.
    operator_id,
    -- Class of the operator.
    operator_class,
    -- ATen operator without its overload.
    operator_name
) AS
WITH listed_names AS (
    SELECT DISTINCT kernel_class AS operator_name FROM efficiency WHERE kernel_class LIKE '%.%'
)

SELECT
    o.model_id,
    o.operator_id,
    o.operator_class,
    l.operator_name
FROM operator AS o
INNER JOIN listed_names AS l ON l.operator_name = CONCAT(SPLIT_PART(o.target, '.', 1), '.', SPLIT_PART(o.target, '.', 2))
