-- Tensors that cross the border of every kernel of a run, with their shapes and bytes.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id, tensor_id, direction
CREATE VIEW kernel_border AS
SELECT
    r.run.model,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    b.kernel_id,
    b.tensor_id,
    b.direction,
    b.role,
    t.tensor,
    t.shape,
    -- Operator that writes the tensor, or first reads it.
    o.operator,
    b.is_produced,
    b.moved_byte
FROM run AS r
INNER JOIN border_byte AS b ON b.run = r.run AND b.backend = r.run.backend
INNER JOIN tensor AS t ON t.model = b.run.model AND t.tensor_id = b.tensor_id
INNER JOIN operator AS o ON o.model = b.run.model AND o.operator_id = b.operator_id
