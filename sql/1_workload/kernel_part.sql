-- Parts of every operator that a kernel executes in a run, with the precision it computes in.
-- Grain: model_id, scenario_id, subgraph_id, operator_id, part
CREATE VIEW kernel_part (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel.
    subgraph_id,
    -- Operator.
    operator_id,
    -- Step of the operator.
    part,
    -- `gemm`, `vector` or `move`.
    part_class,
    -- Class of the operator.
    operator_class,
    -- Element type of the arithmetic.
    precision,
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
    -- Heads of queries whose rows are those of one product, as they share keys; 1 where none do.
    sharing
) AS
SELECT
    r.model_id,
    r.scenario_id,
    so.subgraph_id,
    so.operator_id,
    p.part,
    p.part_class,
    o.operator_class,
    op.precision,
    z.macs,
    z.flops,
    z.threads,
    z.steps,
    z.m,
    z.n,
    z.k,
    z.gemm_count,
    z.sharing
FROM run AS r
INNER JOIN subgraph_operator AS so ON so.model_id = r.model_id AND so.backend = r.backend
INNER JOIN operator AS o ON o.model_id = so.model_id AND o.operator_id = so.operator_id
INNER JOIN operator_part AS p ON p.model_id = so.model_id AND p.operator_id = so.operator_id
INNER JOIN operator_precision AS op
    ON op.model_id = so.model_id AND op.policy = r.policy AND op.operator_id = so.operator_id
INNER JOIN part_size AS z
    ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id
    AND z.operator_id = p.operator_id AND z.part = p.part
WHERE NOT so.is_folded AND NOT o.is_view
