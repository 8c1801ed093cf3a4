-- Elements of every tensor in every run: its polynomial in batch, sequence and context, evaluated.
-- Grain: model, scenario_id, tensor_id
CREATE VIEW tensor_size AS
SELECT
    r.model,
    r.scenario_id,
    t.tensor_id,
    -- Elements held in memory.
    SUM(
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
    ) AS elements
FROM run AS r
INNER JOIN tensor_term AS t ON t.model = r.model
GROUP BY r.model, r.scenario_id, t.tensor_id

