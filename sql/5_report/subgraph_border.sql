-- Tensors that cross the border of every kernel of a run, with their shapes: what its traffic is made of.
-- Grain: model, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id, tensor_id, direction
CREATE VIEW subgraph_border (
    -- Name of the model.
    model,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel.
    subgraph_id,
    -- Tensor.
    tensor_id,
    -- `read` or `write`.
    direction,
    -- `input`, `weight`, `kv_cache` or `output`.
    role,
    -- Name in the graph, or attribute path of a weight.
    tensor,
    -- Dimensions, with B, S and C where a size is symbolic.
    shape,
    -- Operator that reads it first or writes it.
    operator,
    -- True when an earlier kernel of the run wrote it.
    is_produced,
    -- Bytes moved. [byte]
    moved_byte
) AS
SELECT
    l.model,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.memory_format,
    l.model_id,
    l.scenario_id,
    b.subgraph_id,
    b.tensor_id,
    b.direction,
    b.role,
    t.tensor,
    t.shape,
    o.operator,
    b.is_produced,
    b.moved_byte
FROM border_byte AS b
INNER JOIN run_label AS l
    ON l.model_id = b.model_id AND l.scenario_id = b.scenario_id AND l.backend = b.backend
INNER JOIN tensor AS t ON t.model_id = b.model_id AND t.tensor_id = b.tensor_id
INNER JOIN operator AS o ON o.model_id = b.model_id AND o.operator_id = b.operator_id
