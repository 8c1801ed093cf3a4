-- Bytes of every storage of a run as they grow with the batch: fixed_byte + sample_byte * batch.
-- Grain: model, scenario_id, tensor_id, precision
CREATE VIEW storage_term AS
SELECT
    s.model,
    s.scenario_id,
    s.tensor_id,
    s.precision,
    s.first_kernel_id,
    s.last_kernel_id,
    -- Bytes at any batch. [byte]
    SUM(
        CASE WHEN t.batch_power = 0 THEN 1e0 ELSE 0e0 END * t.coefficient
        * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power) * p.bits / 8e0
    ) AS fixed_byte,
    -- Bytes more for each sample. [byte]
    SUM(
        CASE WHEN t.batch_power = 1 THEN 1e0 ELSE 0e0 END * t.coefficient
        * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power) * p.bits / 8e0
    ) AS sample_byte,
    -- Highest power of the batch in its size: above 1 the two terms are not all of it.
    MAX(t.batch_power) AS batch_power
FROM storage_byte AS s
INNER JOIN run AS r ON r.model = s.model AND r.scenario_id = s.scenario_id
INNER JOIN tensor_term AS t ON t.model = s.model AND t.tensor_id = s.tensor_id
INNER JOIN precision AS p ON p.precision = s.precision
GROUP BY s.model, s.scenario_id, s.tensor_id, s.precision, s.first_kernel_id, s.last_kernel_id
