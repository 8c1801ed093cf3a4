-- Distinct matrix products of every run, each with its first operator and its number of occurrences: the inputs of a loop nest
-- (`loop_nest`).
-- Grain: model, backend, precision, batch, sequence, scenario_id, compute_precision, m, n, k, gemm_count, taps, image
CREATE VIEW run_product AS
WITH counted_shapes AS (
    SELECT run, shape_id, COUNT(kernel_id) AS kernel_count
    FROM run_kernel
    GROUP BY run, shape_id
),

sized_steps AS (
    SELECT
        s.run,
        s.compute_precision,
        s.m,
        s.n,
        s.k,
        s.gemm_count,
        COALESCE(s.taps, 1e0) AS taps,
        COALESCE(s.image, s.m * s.k * s.gemm_count) AS image,
        o.operator_id,
        o.operator,
        c.kernel_count
    FROM shape_step AS s
    INNER JOIN operator AS o ON o.model = s.run.model AND o.operator_id = s.operator_id
    INNER JOIN counted_shapes AS c ON c.run = s.run AND c.shape_id = s.shape_id
    WHERE s.is_product
)

SELECT
    run.model,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    compute_precision,
    m,
    n,
    k,
    gemm_count,
    -- Number of positions in a convolution's kernel; 1 for other products.
    taps,
    -- Number of elements of a convolution's input; for other products, rows times depth.
    image,
    -- Number of images that the product's rows cover.
    CAST(run.batch AS BIGINT) AS images,
    -- First operator with the product.
    MIN_BY(operator, operator_id) AS product,
    -- Number of products of this shape in the run.
    CAST(SUM(kernel_count) AS BIGINT) AS product_count
FROM sized_steps
GROUP BY run, compute_precision, m, n, k, gemm_count, taps, image
