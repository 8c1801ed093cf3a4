-- Elements of every tensor at every size of runs: its polynomial in batch, sequence and context, evaluated.
-- Grain: model, batch, sequence, context, tensor_id
CREATE VIEW tensor_size AS
SELECT
    r.model,
    r.batch,
    r.sequence,
    r.context,
    t.tensor_id,
    -- Elements held in memory.
    SUM(
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
    ) AS elements
FROM (SELECT DISTINCT model, batch, sequence, context FROM run) AS r
INNER JOIN tensor_term AS t ON t.model = r.model
GROUP BY r.model, r.batch, r.sequence, r.context, t.tensor_id

