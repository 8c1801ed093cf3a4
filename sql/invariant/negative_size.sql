-- Quantities below zero at the model's default sizes.
-- Grain: model, operator_id, step, quantity
CREATE VIEW negative_size AS
SELECT
    t.model,
    t.operator_id,
    -- Step of the operator.
    t.step,
    -- Name of the quantity.
    t.quantity,
    -- Value of the quantity.
    SUM(
        t.coefficient
        * POWER(m.default_batch, t.batch_power)
        * POWER(m.default_sequence, t.sequence_power + t.context_power)
    ) AS amount
FROM term AS t
INNER JOIN model AS m ON m.model = t.model
GROUP BY t.model, t.operator_id, t.step, t.quantity
HAVING
    SUM(
        t.coefficient
        * POWER(m.default_batch, t.batch_power)
        * POWER(m.default_sequence, t.sequence_power + t.context_power)
    ) < 0e0
