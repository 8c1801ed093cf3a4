-- Extra traffic and cache conflicts of each linear layer of PyTorch on a processor, where a matrix product is added to a result
-- that is filled with the bias (`addmm`). Backends that do not call ATen have no rows.
-- Grain: run, kernel_id
CREATE VIEW linear_call AS
SELECT
    w.run,
    w.kernel_id,
    -- True if the rows of both operands start a multiple of 2 KiB apart. The rows then share two of the 64 sets of a first-level
    -- cache with 8 or 12 ways, so that a tile's rows evict one another (conflict misses, Hennessy and Patterson, appendix B) if the
    -- library reads rows in place, as MKL does on Intel's processors but not on AMD's.
    (z.k * p.bits / 8e0) % c.value = 0e0 AS is_aliased,
    -- Bytes written and read back to fill every row of the result with the bias. [byte]
    CASE WHEN b.tensor_id IS NULL THEN 0e0 ELSE 2e0 * z.gemm_count * z.m * z.n * p.bits / 8e0 END AS reorder_byte
FROM run AS r
INNER JOIN backend AS a ON a.backend = r.run.backend AND a.calls_aten
INNER JOIN executed_kernel AS w ON w.run = r.run AND w.kernel_class = 'linear'
INNER JOIN precision AS p ON p.precision = w.compute_precision
INNER JOIN step_size AS z
    ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
    AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count
    AND z.operator_id = w.anchor_operator_id AND z.step = 'main' AND z.k IS NOT NULL
INNER JOIN library_constant AS c ON c.library_constant = 'aliased_row_byte'
LEFT JOIN edge AS b ON b.model = w.run.model AND b.consumer_operator_id = w.anchor_operator_id AND b.position = 2

