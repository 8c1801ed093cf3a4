-- How PyTorch on a processor executes each linear layer: as a matrix product added onto a result that already holds the
-- bias (`addmm`). Rows that begin a multiple of 2 KiB apart meet in two of the 64 sets of a first-level cache, which
-- has 8 or 12 ways, so that a tile's rows evict one another (set conflicts, Hennessy and Patterson, appendix B) where
-- the library reads them as they lie: MKL does on Intel's processors, not on AMD's.
-- Backends that do not call ATen have no rows.
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW linear_call (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel.
    subgraph_id,
    -- True where the rows of both operands begin a multiple of 2 KiB apart.
    is_aliased,
    -- The bias written to every row of the result, and read again. [byte]
    reorder_byte
) AS
SELECT
    w.model_id,
    w.scenario_id,
    w.subgraph_id,
    (z.k * p.bits / 8e0) % 2048e0 = 0e0 AS is_aliased,
    CASE WHEN b.tensor_id IS NULL THEN 0e0 ELSE 2e0 * z.gemm_count * z.m * z.n * p.bits / 8e0 END AS reorder_byte
FROM run AS r
INNER JOIN backend AS a ON a.backend = r.backend AND a.calls_aten
INNER JOIN kernel_work AS w ON w.model_id = r.model_id AND w.scenario_id = r.scenario_id AND w.kernel_class = 'linear'
INNER JOIN precision AS p ON p.precision = w.precision
INNER JOIN part_size AS z
    ON z.model_id = w.model_id AND z.scenario_id = w.scenario_id
    AND z.operator_id = w.anchor_operator_id AND z.part = 'main' AND z.k IS NOT NULL
LEFT JOIN edge AS b
    ON b.model_id = w.model_id AND b.consumer_operator_id = w.anchor_operator_id AND b.position = 2
