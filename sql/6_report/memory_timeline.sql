-- Memory while each kernel of a run executes. A kernel that the backend inserts, such as the biases that only some parts add by
-- kernels, uses the memory of the kernel that it serves.
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
    -- Size of the gradients, activations, inputs and converted copies in memory. [byte]
    m.live_byte,
    -- Size of the allocator's blocks for gradients, activations, inputs and converted copies. [byte]
    m.allocated_byte,
    -- Size of the weights, buffers and KV cache, which stay in memory throughout the run. [byte]
    s.weight_byte + s.buffer_byte + s.kv_cache_byte AS resident_byte,
    -- Sum of `allocated_byte` and `resident_byte`. [byte]
    m.allocated_byte + s.weight_byte + s.buffer_byte + s.kv_cache_byte AS total_byte
FROM run_kernel AS k
INNER JOIN run AS r ON r.run = k.run
INNER JOIN memory_step AS m ON m.run = k.run AND m.kernel_id = k.fused_kernel_id
INNER JOIN run_memory AS s ON s.run = k.run
