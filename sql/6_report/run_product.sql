-- Distinct matrix products of every run, each with the operator that has it first and how often it is there: what a loop nest
-- (`loop_nest`) is for.
-- Grain: model, backend, precision, batch, sequence, scenario_id, compute_precision, m, n, k, gemm_count, taps, image
CREATE VIEW run_product AS
WITH counted_shapes AS (
    SELECT model, backend, precision, batch, sequence, scenario_id, shape_id, COUNT(kernel_id) AS kernel_count
    FROM run_kernel
    GROUP BY model, backend, precision, batch, sequence, scenario_id, shape_id
),

sized_steps AS (
    SELECT
        r.model,
        r.backend,
        r.precision,
        r.batch,
        r.sequence,
        r.scenario_id,
        s.compute_precision,
        s.m,
        s.n,
        s.k,
        s.gemm_count,
        COALESCE(z.taps, 1e0) AS taps,
        COALESCE(z.image, s.m * s.k * s.gemm_count) AS image,
        o.operator_id,
        o.operator,
        c.kernel_count
    FROM run AS r
    INNER JOIN shape_step AS s
        ON s.model = r.model AND s.backend = r.backend AND s.precision = r.precision AND s.batch = r.batch
        AND s.sequence = r.sequence AND s.scenario_id = r.scenario_id AND s.is_product
    INNER JOIN operator AS o ON o.model = s.model AND o.operator_id = s.operator_id
    INNER JOIN counted_shapes AS c
        ON c.model = s.model AND c.backend = s.backend AND c.precision = s.precision AND c.batch = s.batch
        AND c.sequence = s.sequence AND c.scenario_id = s.scenario_id AND c.shape_id = s.shape_id
    LEFT JOIN step_size AS z
        ON z.model = r.model AND z.batch = r.batch AND z.sequence = r.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.operator_id = s.operator_id AND z.step = s.step
)

SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    compute_precision,
    m,
    n,
    k,
    gemm_count,
    -- Positions of a convolution's kernel; 1 of other products.
    taps,
    -- Elements of a convolution's input; those of all rows and depths, of other products.
    image,
    -- Images that its rows belong to.
    CAST(batch AS BIGINT) AS images,
    -- First operator that has the product.
    MIN_BY(operator, operator_id) AS product,
    -- Products of that shape in a run.
    CAST(SUM(kernel_count) AS BIGINT) AS product_count
FROM sized_steps
GROUP BY model, backend, precision, batch, sequence, scenario_id, compute_precision, m, n, k, gemm_count, taps, image
