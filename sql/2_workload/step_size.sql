-- Work of every operator step at every size of the runs: polynomials in batch, sequence and context, evaluated for each chunk.
-- Grain: model, batch, sequence, context, logit_tokens, chunk_count, operator_id, step
CREATE VIEW step_size AS
WITH evaluated_terms AS (
    SELECT
        r.model,
        r.batch,
        r.sequence,
        r.context,
        r.logit_tokens,
        r.chunk_count,
        t.operator_id,
        t.step,
        t.quantity,
        chunk_amount(
            t.coefficient, r.batch, r.sequence, r.context, r.logit_tokens, r.pieces, r.chunk_count, t.batch_power,
            t.sequence_power, t.context_power, t.context_limit, t.logit_power
        )
        -- Quantities of work are summed over the chunks of a run; dimensions of a product are those of one chunk.
        * CASE WHEN t.quantity IN ('macs', 'flops', 'threads', 'groups', 'rows', 'image', 'samples') THEN r.chunk_count ELSE 1e0 END
            AS amount
    FROM (
        SELECT DISTINCT
            run.model, run.batch, run.sequence, context, logit_tokens, chunk_count, prompt_pieces(run.batch, chunk_count) AS pieces
        FROM run
    ) AS r
    INNER JOIN term AS t ON t.model = r.model
)
SELECT
    model,
    batch,
    sequence,
    context,
    logit_tokens,
    chunk_count,
    operator_id,
    -- Step of the operator.
    step,
    -- Number of multiply-accumulates.
    COALESCE(SUM(CASE WHEN quantity = 'macs' THEN amount END), 0e0) AS macs,
    -- Number of operations: two per multiply-accumulate plus all other arithmetic.
    COALESCE(SUM(CASE WHEN quantity = 'flops' THEN amount END), 0e0) AS flops,
    -- Number of independent output elements.
    COALESCE(SUM(CASE WHEN quantity = 'threads' THEN amount END), 0e0) AS threads,
    -- Number of dependent memory accesses of a thread of PyTorch's GPU kernel; 0 if each access has a separate thread.
    COALESCE(SUM(CASE WHEN quantity = 'accesses' THEN amount END), 0e0) AS accesses,
    -- Number of GEMM rows of one group; null for other steps.
    SUM(CASE WHEN quantity = 'm' THEN amount END) AS m,
    -- Number of GEMM columns of one group; null for other steps.
    SUM(CASE WHEN quantity = 'n' THEN amount END) AS n,
    -- GEMM reduction length; null for other steps.
    SUM(CASE WHEN quantity = 'k' THEN amount END) AS k,
    -- Number of independent matrix products of this shape; null for other steps.
    SUM(CASE WHEN quantity = 'groups' THEN amount END) AS gemm_count,
    -- Number of positions in a convolution's kernel; null for other steps.
    SUM(CASE WHEN quantity = 'taps' THEN amount END) AS taps,
    -- Number of input elements of a convolution whose windows leave no gaps; null for other steps.
    SUM(CASE WHEN quantity = 'image' THEN amount END) AS image,
    -- First dimension of the input of a convolution that PyTorch may compute without oneDNN; null for other steps.
    SUM(CASE WHEN quantity = 'samples' THEN amount END) AS samples,
    -- Number of rows that the step normalizes one by one; 0 for other steps.
    COALESCE(SUM(CASE WHEN quantity = 'rows' THEN amount END), 0e0) AS row_count,
    -- Number of products of the step that run in sequence, because each depends on the previous one; 0 if all are independent.
    COALESCE(SUM(CASE WHEN quantity = 'rounds' THEN amount END), 0e0) AS rounds,
    -- Number of query heads that share keys and are rows of one product; 1 without sharing.
    COALESCE(SUM(CASE WHEN quantity = 'sharing' THEN amount END), 1e0) AS sharing,
    -- Number of queries of a head under a causal mask, under which each query sees one key more than the previous query; null
    -- without a causal mask.
    SUM(CASE WHEN quantity = 'queries' THEN amount END) AS queries,
    -- Number of keys of a head under a causal mask; the last query sees all of them; null without a causal mask.
    SUM(CASE WHEN quantity = 'keys' THEN amount END) AS keys
FROM evaluated_terms
GROUP BY model, batch, sequence, context, logit_tokens, chunk_count, operator_id, step

