-- Memory while each kernel of a run executes.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW memory_timeline AS
SELECT
    r.model,
    r.backend,
    r.precision,
    r.batch,
    r.sequence,
    r.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    m.kernel_id,
    k.kernel,
    -- Operator that gives it its character.
    o.operator,
    -- Module that operator belongs to.
    d.path AS module,
    m.storage_count,
    -- Activations, inputs and converted copies held. [byte]
    m.live_byte,
    -- The same in allocator blocks. [byte]
    m.allocated_byte,
    -- Weights, buffers and key-value cache, held throughout. [byte]
    s.weight_byte + s.buffer_byte + s.kv_cache_byte AS resident_byte,
    -- Blocks and residents together. [byte]
    m.allocated_byte + s.weight_byte + s.buffer_byte + s.kv_cache_byte AS total_byte
FROM run AS r
INNER JOIN memory_step AS m ON m.model = r.model AND m.scenario_id = r.scenario_id
INNER JOIN run_memory AS s
    ON s.model = r.model AND s.backend = r.backend AND s.precision = r.precision AND s.batch = r.batch
    AND s.sequence = r.sequence AND s.scenario_id = r.scenario_id
INNER JOIN kernel AS k ON k.model = r.model AND k.backend = r.backend AND k.kernel_id = m.kernel_id
INNER JOIN operator AS o ON o.model = k.model AND o.operator_id = k.anchor_operator_id
INNER JOIN module AS d ON d.model = o.model AND d.module_id = o.module_id
