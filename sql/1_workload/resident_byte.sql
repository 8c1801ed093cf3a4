-- What stays in memory for a whole run: weights, buffers and constants at the policy's element sizes,
-- storages shared by several names counted once, and in prefill and decode the key-value cache.
-- Grain: model_id, scenario_id
CREATE VIEW resident_byte (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Trainable parameters. [byte]
    weight_byte,
    -- Buffers and constants. [byte]
    buffer_byte,
    -- Keys and values of every token attended to; 0 outside prefill and decode. [byte]
    kv_cache_byte
) AS
SELECT
    r.model_id,
    r.scenario_id,
    SUM(CASE WHEN t.role = 'weight' AND t.storage_tensor_id = t.tensor_id THEN z.elements * p.bits / 8e0 ELSE 0e0 END)
        AS weight_byte,
    SUM(
        CASE
            WHEN t.role IN ('buffer', 'constant') AND t.storage_tensor_id = t.tensor_id THEN z.elements * p.bits / 8e0
            ELSE 0e0
        END
    ) AS buffer_byte,
    SUM(
        CASE
            WHEN t.role = 'kv_cache' AND r.phase IN ('prefill', 'decode') THEN z.elements * p.bits / 8e0
            ELSE 0e0
        END
    ) AS kv_cache_byte
FROM run AS r
INNER JOIN tensor AS t ON t.model_id = r.model_id
INNER JOIN tensor_size AS z
    ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = t.tensor_id
INNER JOIN tensor_precision AS tp
    ON tp.model_id = r.model_id AND tp.policy = r.policy AND tp.tensor_id = t.tensor_id
INNER JOIN precision AS p ON p.precision = tp.precision
GROUP BY r.model_id, r.scenario_id
