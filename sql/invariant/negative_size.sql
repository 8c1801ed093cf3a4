-- Quantities below zero at the model's default sizes.
-- Grain: model_id, operator_id, part, quantity
CREATE VIEW negative_size (
    -- Model.
    model_id,
    -- Operator.
    operator_id,
    -- Step of the operator.
    part,
    -- Quantity.
    quantity,
    -- Its value.
    amount
) AS
SELECT
    t.model_id,
    t.operator_id,
    t.part,
    t.quantity,
    SUM(
        t.coefficient
        * POWER(m.default_batch, t.batch_power)
        * POWER(m.default_sequence, t.sequence_power + t.context_power)
    ) AS amount
FROM term AS t
INNER JOIN model AS m ON m.model_id = t.model_id
GROUP BY t.model_id, t.operator_id, t.part, t.quantity
HAVING
    SUM(
        t.coefficient
        * POWER(m.default_batch, t.batch_power)
        * POWER(m.default_sequence, t.sequence_power + t.context_power)
    ) < 0e0
