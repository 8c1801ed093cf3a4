-- Steps of every compiled kernel with their operators, numbered as in the kernel's shape (`shape_step`).
-- Grain: model, backend, kernel_id, step_id
CREATE VIEW kernel_step AS
SELECT
    k.model,
    k.backend,
    k.kernel_id,
    -- Number of the step within the kernel, from 0.
    CAST(ROW_NUMBER() OVER (PARTITION BY k.model, k.backend, k.kernel_id ORDER BY k.operator_id, p.step) - 1 AS BIGINT)
        AS step_id,
    k.operator_id,
    p.step,
    p.step_class,
    o.operator,
    o.operator_class
FROM kernel_operator AS k
INNER JOIN operator AS o ON o.model = k.model AND o.operator_id = k.operator_id
INNER JOIN operator_step AS p ON p.model = k.model AND p.operator_id = k.operator_id
WHERE NOT k.is_folded AND NOT o.is_view
