-- Models with their number of parameters, and their work at the sizes they were ingested with.
-- Grain: model
CREATE VIEW model_list AS
WITH operator_counts AS (
    SELECT
        model,
        SUM(CASE WHEN is_view THEN 0 ELSE 1 END) AS operator_count,
        SUM(CASE WHEN rule IS NULL THEN 1 ELSE 0 END) AS unsized_count
    FROM operator
    GROUP BY model
),

weight_sums AS (
    SELECT t.model, SUM(z.coefficient) AS trained_parameter_count
    FROM tensor AS t
    INNER JOIN tensor_term AS z ON z.model = t.model AND z.tensor_id = t.tensor_id
    WHERE t.is_trained
    GROUP BY t.model
),

work_sums AS (
    SELECT
        t.model,
        SUM(
            t.coefficient * POWER(m.default_batch, t.batch_power)
            * POWER(m.default_sequence, t.sequence_power + t.context_power)
        ) AS macs
    FROM term AS t
    INNER JOIN model AS m ON m.model = t.model
    WHERE t.quantity = 'macs'
    GROUP BY t.model
)

SELECT
    m.model,
    m.source,
    m.input_signature,
    m.parameter_count,
    -- Number of parameters with `requires_grad`.
    CAST(COALESCE(p.trained_parameter_count, 0) AS BIGINT) AS trained_parameter_count,
    -- Number of operators, excluding views.
    CAST(COALESCE(c.operator_count, 0) AS BIGINT) AS operator_count,
    -- Multiply-accumulates; null if no operator has a rule that counts them.
    w.macs,
    -- Number of operators without a rule, whose work is unknown.
    CAST(COALESCE(c.unsized_count, 0) AS BIGINT) AS unsized_count
FROM model AS m
LEFT JOIN operator_counts AS c ON c.model = m.model
LEFT JOIN weight_sums AS p ON p.model = m.model
LEFT JOIN work_sums AS w ON w.model = m.model
