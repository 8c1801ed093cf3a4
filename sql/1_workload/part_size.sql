-- Work of every operator part in every run: its polynomials in batch, sequence and context, evaluated.
-- Grain: model_id, scenario_id, operator_id, part
CREATE VIEW part_size (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Operator.
    operator_id,
    -- Step of the operator.
    part,
    -- Multiply-accumulates.
    macs,
    -- Operations: two a MAC plus all other arithmetic.
    flops,
    -- Independent output elements.
    threads,
    -- Accesses that a thread of PyTorch's GPU kernel makes one after another; 0 where each makes its own.
    steps,
    -- GEMM rows of one group; null unless the part is a matrix product.
    m,
    -- GEMM columns of one group; null unless the part is a matrix product.
    n,
    -- GEMM reduction length; null unless the part is a matrix product.
    k,
    -- Independent matrix products of that shape; null unless the part is a matrix product.
    gemm_count,
    -- Positions of a convolution's kernel; null for other parts.
    taps,
    -- Elements of the input of a plain convolution; null for other parts.
    image,
    -- First dimension of that input; null for other parts.
    samples,
    -- Heads of queries whose rows are those of one product, as they share keys; 1 where none do.
    sharing
) AS
WITH evaluated_terms AS (
    SELECT
        r.model_id,
        r.scenario_id,
        t.operator_id,
        t.part,
        t.quantity,
        t.coefficient
        * POWER(r.batch, t.batch_power) * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
            AS amount
    FROM run AS r
    INNER JOIN term AS t ON t.model_id = r.model_id
)
SELECT
    model_id,
    scenario_id,
    operator_id,
    part,
    COALESCE(SUM(CASE WHEN quantity = 'macs' THEN amount END), 0e0) AS macs,
    COALESCE(SUM(CASE WHEN quantity = 'flops' THEN amount END), 0e0) AS flops,
    COALESCE(SUM(CASE WHEN quantity = 'threads' THEN amount END), 0e0) AS threads,
    COALESCE(SUM(CASE WHEN quantity = 'steps' THEN amount END), 0e0) AS steps,
    SUM(CASE WHEN quantity = 'm' THEN amount END) AS m,
    SUM(CASE WHEN quantity = 'n' THEN amount END) AS n,
    SUM(CASE WHEN quantity = 'k' THEN amount END) AS k,
    SUM(CASE WHEN quantity = 'groups' THEN amount END) AS gemm_count,
    SUM(CASE WHEN quantity = 'taps' THEN amount END) AS taps,
    SUM(CASE WHEN quantity = 'image' THEN amount END) AS image,
    SUM(CASE WHEN quantity = 'samples' THEN amount END) AS samples,
    COALESCE(SUM(CASE WHEN quantity = 'sharing' THEN amount END), 1e0) AS sharing
FROM evaluated_terms
GROUP BY model_id, scenario_id, operator_id, part
