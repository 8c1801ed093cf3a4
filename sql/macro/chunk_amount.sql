-- Value of one term of a size in one chunk of a run. Batch and sequence are those of the chunk; the context is the mean over the
-- pieces of a prompt, each of which attends to itself and all earlier pieces.
CREATE MACRO chunk_amount(
    coefficient, batch, sequence, context, logit_tokens, pieces, chunk_count, batch_power, sequence_power, context_power,
    context_limit, logit_power
) AS
    coefficient
    * POWER(batch * pieces / NULLIF(chunk_count, 0e0), batch_power)
    * POWER(sequence / NULLIF(pieces, 0e0), sequence_power)
    * POWER(
        LEAST(
            context - sequence + sequence * (pieces + 1e0) / NULLIF(2e0 * pieces, 0e0),
            COALESCE(context_limit, CAST(context AS DOUBLE))
        ), context_power
    )
    * POWER(logit_tokens, logit_power);
