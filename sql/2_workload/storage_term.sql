-- Size of every storage as a function of the batch: fixed_byte + sample_byte * batch.
-- Grain: model, backend, precision, sequence, context, logit_tokens, tensor_id, storage_precision
CREATE VIEW storage_term AS
SELECT
    r.model,
    r.backend,
    r.precision,
    r.sequence,
    r.context,
    r.logit_tokens,
    s.tensor_id,
    s.storage_precision,
    s.first_kernel_id,
    s.last_kernel_id,
    -- Bytes that do not depend on the batch; on a backend that serves, the bytes of a whole chunk of tokens included. [byte]
    SUM(
        CASE
            WHEN t.batch_power = 0 THEN 1e0
            WHEN t.batch_power = 1 AND b.serves AND t.logit_power = 0 AND (t.sequence_power > 0 OR NOT m.is_sequence_symbolic)
                THEN b.chunk_tokens / NULLIF(r.sequence, 0)
            ELSE 0e0
        END * t.coefficient * POWER(r.sequence, t.sequence_power)
        * POWER(LEAST(r.context, COALESCE(t.context_limit, r.context)), t.context_power)
        * POWER(r.logit_tokens, t.logit_power) * s.bits / 8e0
    ) AS fixed_byte,
    -- Bytes that each sample adds. [byte]
    SUM(
        CASE
            WHEN t.batch_power = 1
                AND NOT (b.serves AND t.logit_power = 0 AND (t.sequence_power > 0 OR NOT m.is_sequence_symbolic))
                THEN 1e0
            ELSE 0e0
        END * t.coefficient
        * POWER(r.sequence, t.sequence_power)
        * POWER(LEAST(r.context, COALESCE(t.context_limit, r.context)), t.context_power)
        * POWER(r.logit_tokens, t.logit_power) * s.bits / 8e0
    ) AS sample_byte,
    -- Highest power of the batch in the storage's size; above 1, the two terms are incomplete.
    MAX(t.batch_power) AS batch_power
FROM (SELECT DISTINCT run.model, run.backend, run.precision, run.sequence, context, logit_tokens FROM run) AS r
INNER JOIN backend AS b ON b.backend = r.backend
INNER JOIN model AS m ON m.model = r.model
INNER JOIN planned_storage AS s ON s.model = r.model AND s.backend = r.backend AND s.precision = r.precision
INNER JOIN tensor_term AS t ON t.model = s.model AND t.tensor_id = s.tensor_id
GROUP BY
    r.model, r.backend, r.precision, r.sequence, r.context, r.logit_tokens, s.tensor_id, s.storage_precision, s.first_kernel_id,
    s.last_kernel_id
