-- Steps of every distinct shape.
-- Grain: run, shape_id, step_id
CREATE TABLE shape_step AS
SELECT
    s.run,
    s.shape_id,
    t.step_id,
    t.operator_id,
    t.step,
    -- True for a matrix product.
    t.step_class = 'gemm' AS is_product,
    t.operator_class,
    t.compute_precision,
    t.macs,
    t.flops,
    t.threads,
    t.m,
    t.n,
    t.k,
    t.gemm_count,
    t.taps,
    t.image,
    t.rounds,
    t.chunk_count,
    t.is_row_wise,
    -- True for a product of a linear layer of few rows, or of narrow groups of a convolution, which uses the vector units only.
    t.is_vector_only OR COALESCE(s.algorithm = 'wide', FALSE) AS is_vector_only,
    -- True for the attention scores of a fused attention: their tiles continue with the tiles of the product with the values, so
    -- that filling costs once per tile of queries.
    t.operator_class = 'attention' AND t.step = 'qk' AS is_continued,
    -- True if each result is a reduction over many elements, which several units can share.
    c.is_reducing,
    s.product_count,
    s.query_count,
    s.query_heads
FROM run_shape AS s
INNER JOIN executed_step AS t ON t.run = s.run AND t.kernel_id = s.shape_id
INNER JOIN operator_class AS c ON c.operator_class = t.operator_class
