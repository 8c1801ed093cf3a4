-- Steps of every operator that a kernel executes in a run, with the element type each computes in.
-- Grain: model, scenario_id, kernel_id, operator_id, step
CREATE VIEW executed_step AS
-- Materialized, or the planner joins every step with every size first.
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
    FROM (SELECT DISTINCT model, backend, precision FROM run) AS r
    INNER JOIN kernel_step AS k ON k.model = r.model AND k.backend = r.backend
    INNER JOIN operator_precision AS op
        ON op.model = r.model AND op.policy = r.precision AND op.operator_id = k.operator_id
)

SELECT
    r.model,
    r.backend,
    r.precision,
    r.scenario_id,
    -- Kernel.
    p.kernel_id,
    p.step_id,
    p.operator_id,
    p.step,
    p.step_class,
    p.operator_class,
    -- Element type of the arithmetic.
    p.compute_precision,
    r.chunk_count,
    -- True of a product of so few rows that the backend has kernels on the vector units for it.
    COALESCE(z.m <= r.vector_rows AND p.operator_class <> 'attention', FALSE) AS is_row_wise,
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
    z.sharing
FROM run AS r
INNER JOIN planned_steps AS p ON p.model = r.model AND p.backend = r.backend AND p.precision = r.precision
INNER JOIN step_size AS z
    ON z.model = r.model AND z.batch = r.batch AND z.sequence = r.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count
    AND z.operator_id = p.operator_id AND z.step = p.step
