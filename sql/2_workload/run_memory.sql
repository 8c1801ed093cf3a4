-- Peak memory of every run on each of its devices, and the terms of that memory.
-- Grain: run
CREATE TABLE run_memory AS
SELECT
    r.run,
    -- Size of the parameters in the memory of a device. [byte]
    (1e0 - r.weight_host_fraction) * s.device_weight_byte AS weight_byte,
    -- Size of the buffers and constants. [byte]
    s.buffer_byte,
    -- Size of the KV cache in the memory of a device: whole heads, or all latents. [byte]
    (1e0 - r.cache_host_fraction) * s.device_cache_byte AS kv_cache_byte,
    -- Part of the KV cache that does not grow with the context: states, and a decoder's copy of an encoder's result. [byte]
    COALESCE((1e0 - r.cache_host_fraction) * s.device_lasting_byte, 0e0) AS lasting_cache_byte,
    -- Size of a device's weights in the host's memory. [byte]
    r.weight_host_fraction * s.device_weight_byte AS host_weight_byte,
    -- Size of a device's KV cache in the host's memory. [byte]
    r.cache_host_fraction * s.device_cache_byte AS host_cache_byte,
    -- Size of the inputs that are copied from the host's memory in the run. [byte]
    r.input_host_fraction * s.input_byte AS host_input_byte,
    -- Size of the gradients of the trained weights, which stay in memory throughout the run. [byte]
    COALESCE(a.gradient_byte, 0e0) AS gradient_byte,
    -- Peak size of the activations, their gradients, inputs and converted copies that are in memory at the same time; on a backend
    -- that serves, in a step with a whole chunk of tokens. [byte]
    COALESCE(a.live_byte - a.gradient_byte, 0e0) AS activation_byte,
    -- Bytes lost at the peak by rounding these storages and the gradients up to the allocator's blocks. [byte]
    COALESCE(a.allocated_byte - a.live_byte, 0e0) AS rounding_byte,
    -- Scratch memory of the backend: a share of activations and gradients. [byte]
    COALESCE(b.workspace_fraction * a.allocated_byte, 0e0) AS workspace_byte,
    -- Peak memory of a device: weights, buffers, KV cache, gradients, activations and scratch memory; null if a number of the run
    -- is impossible (`condition_fault`). [byte]
    CASE
        WHEN r.fault IS NULL AND r.memory_fault IS NULL
            THEN (1e0 - r.weight_host_fraction) * s.device_weight_byte
                + s.buffer_byte
                + (1e0 - r.cache_host_fraction) * s.device_cache_byte
                + COALESCE((1e0 + b.workspace_fraction) * a.allocated_byte, 0e0)
    END AS peak_memory_byte,
    -- Share of a part's main memory that the backend leaves free.
    b.reserve_fraction,
    a.peak_kernel_id,
    r.implausible
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.run.backend
INNER JOIN resident_byte AS s ON s.run = r.run
LEFT JOIN activation_peak AS a ON a.run = r.run

