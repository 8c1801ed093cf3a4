-- Memory while each kernel of a run executes. A kernel that the backend inserts runs on what is held for the kernel that it is
-- made for; biases that some parts add by kernels of their own are among them.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW memory_timeline AS
SELECT
    k.run.model,
    k.run.backend,
    k.run.precision,
    k.run.batch,
    k.run.sequence,
    k.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    k.kernel_id,
    k.position,
    k.kernel,
    k.operator,
    k.module,
    m.storage_count,
    -- Gradients, activations, inputs and converted copies held. [byte]
    m.live_byte,
    -- The same in allocator blocks. [byte]
    m.allocated_byte,
    -- Weights, buffers and key-value cache, held throughout. [byte]
    s.weight_byte + s.buffer_byte + s.kv_cache_byte AS resident_byte,
    -- Blocks and residents together. [byte]
    m.allocated_byte + s.weight_byte + s.buffer_byte + s.kv_cache_byte AS total_byte
FROM run_kernel AS k
INNER JOIN run AS r ON r.run = k.run
INNER JOIN memory_step AS m ON m.run = k.run AND m.kernel_id = k.fused_kernel_id
INNER JOIN run_memory AS s ON s.run = k.run
