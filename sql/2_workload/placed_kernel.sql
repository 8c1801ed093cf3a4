-- Kernels of a run grouped by shape, position in the model and treatment on several devices (`split_kernel`).
-- Grain: run, shape_id, place, is_backward, is_repeated, split, is_expert, is_core
CREATE VIEW placed_kernel AS
SELECT
    k.run,
    k.shape_id,
    s.place,
    s.is_backward,
    s.is_repeated,
    s.split,
    s.is_split,
    s.is_expert,
    -- True for kernels of an attention core, which selective recomputation executes again (Korthikanti et al. 2022).
    k.kernel_class IN ('attention', 'softmax') OR (k.kernel_class = 'matmul' AND s.split = 'between') AS is_core,
    -- True for a product with weights, whose backward pass computes the gradients of both operands.
    s.split IN ('column', 'row') AND k.kernel_class <> 'embedding' AS is_weighted,
    -- Number of kernels of the group.
    CAST(COUNT(*) AS BIGINT) AS kernel_count,
    -- Number of views that the host dispatches before these kernels.
    CAST(SUM(k.view_count) AS BIGINT) AS view_count,
    -- Size of the weights that these kernels need in memory. [byte]
    SUM(s.weight_byte) AS held_byte
FROM run_kernel AS k
INNER JOIN split_kernel AS s ON s.run = k.run AND s.kernel_id = k.kernel_id
GROUP BY k.run, k.shape_id, s.place, s.is_backward, s.is_repeated, s.is_split, s.is_expert, s.split, k.kernel_class
