-- Distinct shapes among the kernels of a run, each once: everything that a kernel's cost depends on.
-- Grain: run, shape_id
CREATE TABLE shape AS
WITH largest_links AS (
    SELECT run, MAX(held_byte) AS held_byte
    FROM chain_tensor
    GROUP BY run
)

SELECT
    s.* EXCLUDE (reread_cache_byte),
    -- Bytes of keys and values read again, because each query head reads the keys and values separately; 0 for an engine that
    -- shares them among so few query heads of a device. [byte]
    CASE WHEN s.query_heads > r.paged_heads * r.device_count THEN s.reread_cache_byte ELSE 0e0 END AS reread_cache_byte,
    -- Size of the weights, buffers and constants of the whole run. [byte]
    m.weight_byte + m.buffer_byte AS run_weight_byte,
    -- Bytes of a device's weights and KV cache that are copied from the host's memory in the run. [byte]
    m.host_weight_byte * s.chunk_count + m.host_cache_byte AS host_byte,
    -- Bytes of a device's inputs that are copied from the host's memory in the run. [byte]
    m.host_input_byte,
    -- Peak size of the run's gradients and activations, at least the size of the largest link of a chain. [byte]
    GREATEST(m.gradient_byte + m.activation_byte, COALESCE(l.held_byte, 0e0)) AS run_activation_byte
FROM run_shape AS s
INNER JOIN run AS r ON r.run = s.run
INNER JOIN run_memory AS m ON m.run = s.run
LEFT JOIN largest_links AS l ON l.run = s.run
