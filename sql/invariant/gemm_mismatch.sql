-- Matrix products whose multiply-accumulates are not groups * m * n * k, or whose FLOPs are not two per multiply-accumulate, at the
-- model's default sizes.
-- Grain: model, operator_id, step
CREATE VIEW gemm_mismatch AS
WITH sized AS (
    SELECT
        t.model,
        t.operator_id,
        t.step,
        t.quantity,
        SUM(
            t.coefficient
            * POWER(m.default_batch, t.batch_power)
            * POWER(m.default_sequence, t.sequence_power + t.context_power)
        ) AS amount
    FROM term AS t
    INNER JOIN operator_step AS p
        ON p.model = t.model AND p.operator_id = t.operator_id AND p.step = t.step
    INNER JOIN model AS m ON m.model = t.model
    WHERE p.step_class = 'gemm'
    GROUP BY t.model, t.operator_id, t.step, t.quantity
),

wide AS (
    SELECT
        model,
        operator_id,
        step,
        COALESCE(SUM(CASE WHEN quantity = 'macs' THEN amount END), 0e0) AS macs,
        COALESCE(SUM(CASE WHEN quantity = 'flops' THEN amount END), 0e0) AS flops,
        COALESCE(
            SUM(CASE WHEN quantity = 'groups' THEN amount END)
            * SUM(CASE WHEN quantity = 'm' THEN amount END)
            * SUM(CASE WHEN quantity = 'n' THEN amount END)
            * SUM(CASE WHEN quantity = 'k' THEN amount END),
            0e0
        ) AS product_macs
    FROM sized
    GROUP BY model, operator_id, step
)
SELECT
    model,
    operator_id,
    -- Step of the operator.
    step,
    -- Stated number of multiply-accumulates.
    macs,
    -- Product of the step's dimensions.
    product_macs,
    -- Stated number of operations.
    flops
FROM wide
WHERE ABS(macs - product_macs) > 1e-9 * macs OR ABS(flops - 2e0 * macs) > 1e-9 * flops
