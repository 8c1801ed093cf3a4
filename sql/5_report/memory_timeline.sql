-- Memory while each kernel of a run executes.
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW memory_timeline (
    -- Name of the model.
    model,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel, in order of execution.
    subgraph_id,
    -- Operators it fuses.
    subgraph,
    -- Operator that gives it its character.
    operator,
    -- Module that operator belongs to.
    module,
    -- Storages held.
    storage_count,
    -- Activations, inputs and converted copies held. [byte]
    live_byte,
    -- The same in allocator blocks. [byte]
    allocated_byte,
    -- Weights, buffers and key-value cache, held throughout. [byte]
    resident_byte,
    -- Blocks and residents together. [byte]
    total_byte
) AS
SELECT
    l.model,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.model_id,
    l.scenario_id,
    m.subgraph_id,
    k.subgraph,
    o.operator,
    md.path AS module,
    m.storage_count,
    m.live_byte,
    m.allocated_byte,
    s.weight_byte + s.buffer_byte + s.kv_cache_byte AS resident_byte,
    m.allocated_byte + s.weight_byte + s.buffer_byte + s.kv_cache_byte AS total_byte
FROM run_label AS l
INNER JOIN memory_step AS m ON m.model_id = l.model_id AND m.scenario_id = l.scenario_id
INNER JOIN resident_byte AS s ON s.model_id = l.model_id AND s.scenario_id = l.scenario_id
INNER JOIN subgraph AS k ON k.model_id = l.model_id AND k.backend = l.backend AND k.subgraph_id = m.subgraph_id
INNER JOIN operator AS o ON o.model_id = k.model_id AND o.operator_id = k.anchor_operator_id
INNER JOIN module AS md ON md.model_id = o.model_id AND md.module_id = o.module_id
