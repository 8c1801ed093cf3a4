-- Kernels of every run in the order of execution, each with its shape.
-- Grain: run, kernel_id
CREATE TABLE run_kernel AS
SELECT
    k.run,
    k.kernel_id,
    k.position,
    k.shape_id,
    k.fused_kernel_id,
    k.kernel,
    k.kernel_class,
    k.anchor_operator_id,
    -- Name of the kernel's anchor operator in the graph; for an inserted kernel, of the operator that it serves.
    o.operator,
    -- Dotted path of the module whose forward method called the operator.
    m.path AS module,
    k.operator_count,
    k.view_count,
    k.issued_view_count,
    k.issued_bias_count
FROM shaped_kernel AS k
LEFT JOIN operator AS o ON o.model = k.run.model AND o.operator_id = k.anchor_operator_id
LEFT JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
