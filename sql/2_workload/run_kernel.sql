-- Kernels of every run in the order of execution, each with its shape.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE TABLE run_kernel AS
SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    kernel_id,
    position,
    shape_id,
    fused_kernel_id,
    kernel,
    anchor_operator_id,
    operator_count,
    view_count,
    -- Views dispatched before it and before every kernel ahead of it.
    CAST(
        SUM(view_count) OVER (
            PARTITION BY model, scenario_id ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT
    ) AS issued_view_count,
    -- Kernels that add the bias of a convolution, up to it: some parts have none (`part_support.bias_is_kernel`).
    CAST(
        SUM(CASE WHEN kernel_class = 'bias' THEN 1 ELSE 0 END) OVER (
            PARTITION BY model, scenario_id ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT
    ) AS issued_bias_count
FROM shaped_kernel
