-- Size of the keys and values that the layers of a training run compute.
-- Grain: run
CREATE VIEW key_value_byte AS
SELECT
    r.run,
    -- Size of the keys and values. [byte]
    SUM(z.elements * p.bits / 8e0) AS kv_byte
FROM run AS r
INNER JOIN model AS m ON m.model = r.run.model AND m.is_training
INNER JOIN tensor AS t ON t.model = r.run.model AND t.role = 'kv_cache'
INNER JOIN tensor_precision AS f ON f.model = r.run.model AND f.policy = r.run.precision AND f.tensor_id = t.tensor_id
INNER JOIN precision AS p ON p.precision = f.precision
INNER JOIN tensor_size AS z
    ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = t.tensor_id GROUP BY r.run
