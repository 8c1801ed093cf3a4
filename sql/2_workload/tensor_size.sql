-- Number of elements of every tensor at every size of the runs, from the tensor's polynomial in batch, sequence and context.
-- Grain: model, batch, sequence, context, logit_tokens, chunk_count, tensor_id
CREATE VIEW tensor_size AS
SELECT
    r.model,
    r.batch,
    r.sequence,
    r.context,
    r.logit_tokens,
    r.chunk_count,
    t.tensor_id,
    -- Number of elements in memory.
    SUM(
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power)
        * POWER(LEAST(r.context, COALESCE(t.context_limit, r.context)), t.context_power)
        * POWER(r.logit_tokens, t.logit_power)
    ) AS elements,
    -- Number of elements if every token of the context is kept.
    SUM(
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
        * POWER(r.logit_tokens, t.logit_power)
    ) AS whole_elements,
    -- Number of elements that do not grow with the context.
    SUM(
        CASE WHEN t.context_power > 0 THEN 0e0 ELSE 1e0 END * t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.logit_tokens, t.logit_power)
    ) AS lasting_elements,
    -- Number of elements that grow with the tokens, of which a server's step computes one chunk. For a model without a symbolic
    -- sequence, number of all elements that grow with the batch and are not logits.
    SUM(
        CASE WHEN t.batch_power > 0 AND t.logit_power = 0 AND (t.sequence_power > 0 OR NOT COALESCE(r.is_sequence_symbolic, FALSE)) THEN 1e0 ELSE 0e0 END
        * t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power)
        * POWER(LEAST(r.context, COALESCE(t.context_limit, r.context)), t.context_power)
    ) AS token_elements,
    -- Number of elements summed over the chunks of the run; elements that the chunks share count once per chunk.
    SUM(
        r.chunk_count * chunk_amount(
            t.coefficient, r.batch, r.sequence, r.context, r.logit_tokens, r.pieces, r.chunk_count, t.batch_power,
            t.sequence_power, t.context_power, t.context_limit, t.logit_power
        )
    ) AS chunk_elements
FROM (
    SELECT DISTINCT
        u.run.model, u.run.batch, u.run.sequence, u.context, u.logit_tokens, u.chunk_count, m.is_sequence_symbolic,
        prompt_pieces(u.run.batch, u.chunk_count) AS pieces
    FROM run AS u
    LEFT JOIN model AS m ON m.model = u.run.model
) AS r
INNER JOIN tensor_term AS t ON t.model = r.model
GROUP BY r.model, r.batch, r.sequence, r.context, r.logit_tokens, r.chunk_count, t.tensor_id

