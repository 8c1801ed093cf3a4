-- Elements of every tensor in every run: its polynomial in batch, sequence and context, evaluated.
-- Grain: model_id, scenario_id, tensor_id
CREATE VIEW tensor_size (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Tensor.
    tensor_id,
    -- Elements held in memory.
    elements
) AS
SELECT
    r.model_id,
    r.scenario_id,
    t.tensor_id,
    SUM(
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
    ) AS elements
FROM run AS r
INNER JOIN tensor_term AS t ON t.model_id = r.model_id
GROUP BY r.model_id, r.scenario_id, t.tensor_id
