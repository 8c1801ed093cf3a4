-- Steps of every operator that a kernel executes in a run, each with its element type. In attention with a causal mask, backends
-- that work in blocks of queries (`causal_block`) skip the keys that no query of the block sees.
-- Grain: run, kernel_id, operator_id, step
CREATE VIEW executed_step AS
-- The table is materialized, because the planner would otherwise join every step with every size first.
WITH planned_steps AS MATERIALIZED (
    SELECT
        r.model,
        r.backend,
        r.precision,
        k.kernel_id,
        k.step_id,
        k.operator_id,
        k.step,
        k.step_class,
        k.operator_class,
        op.precision AS compute_precision
    FROM (SELECT DISTINCT run.model, run.backend, run.precision FROM run) AS r
    INNER JOIN kernel_step AS k ON k.model = r.model AND k.backend = r.backend
    INNER JOIN operator_precision AS op
        ON op.model = r.model AND op.policy = r.precision AND op.operator_id = k.operator_id
),

sized_steps AS (
    SELECT
        r.run,
        r.chunk_count,
        r.vector_rows,
        r.linear_vector_rows,
        p.kernel_id,
        p.step_id,
        p.operator_id,
        p.step,
        p.step_class,
        p.operator_class,
        p.compute_precision,
        z.macs,
        z.flops,
        z.threads,
        z.accesses,
        z.m,
        z.n,
        z.k,
        z.gemm_count,
        z.rounds,
        z.row_count,
        z.sharing,
        z.taps,
        z.image,
        COALESCE(seen_keys(z.queries, z.keys, r.causal_block) / NULLIF(z.keys, 0e0), 1e0) AS seen_fraction
    FROM run AS r
    INNER JOIN planned_steps AS p ON p.model = r.run.model AND p.backend = r.run.backend AND p.precision = r.run.precision
    INNER JOIN step_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count
        AND z.operator_id = p.operator_id AND z.step = p.step
)

SELECT
    run,
    -- Number of the kernel.
    kernel_id,
    step_id,
    operator_id,
    step,
    step_class,
    operator_class,
    -- Element type of the arithmetic.
    compute_precision,
    chunk_count,
    -- True for a product of so few rows that the backend uses kernels for the vector units.
    COALESCE(m <= vector_rows AND operator_class <> 'attention', FALSE) AS is_row_wise,
    -- True for a linear layer's product of so few rows that the engine's version uses the vector units only.
    COALESCE(m <= linear_vector_rows AND operator_class = 'linear', FALSE) AS is_vector_only,
    -- Number of multiply-accumulates, without those of skipped keys.
    macs * seen_fraction AS macs,
    -- Number of operations, without those on skipped keys.
    flops * seen_fraction AS flops,
    -- Number of multiply-accumulates, skipped keys included.
    macs AS model_macs,
    -- Number of operations, skipped keys included.
    flops AS model_flops,
    threads * CASE WHEN step IN ('qk', 'softmax', 'av_left') THEN seen_fraction ELSE 1e0 END AS threads,
    accesses,
    m,
    -- Number of GEMM columns of one group without skipped keys: keys are the columns of `qk` and of the gradient of the attention
    -- weights.
    n * CASE WHEN step IN ('qk', 'av_left') THEN seen_fraction ELSE 1e0 END AS n,
    -- GEMM reduction length without skipped keys: all other products of attention sum over keys.
    k * CASE WHEN step IN ('qk', 'av_left') THEN 1e0 ELSE seen_fraction END AS k,
    gemm_count,
    rounds,
    row_count,
    sharing,
    taps,
    image
FROM sized_steps
