-- Kernels of training runs grouped by shape, position in the model and treatment on several devices.
-- Grain: run, shape_id, place, is_backward, is_repeated, split, is_expert, is_core
CREATE TABLE trained_kernel AS
SELECT
    k.run,
    k.shape_id,
    k.place,
    k.is_backward,
    k.is_repeated,
    k.split,
    k.is_split,
    k.is_expert,
    k.is_core,
    k.is_weighted,
    k.kernel_count,
    k.view_count
FROM placed_kernel AS k
INNER JOIN model AS m ON m.model = k.run.model
WHERE m.is_training
