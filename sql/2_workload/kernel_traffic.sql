-- Bytes that cross the border of every kernel in a run, by role.
-- Grain: run, kernel_id
CREATE VIEW kernel_traffic AS
SELECT
    b.run,
    b.kernel_id,
    -- Bytes of activations and model inputs read. [byte]
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'input' THEN b.moved_byte ELSE 0e0 END) AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'weight' THEN b.moved_byte ELSE 0e0 END) AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'kv_cache' THEN b.moved_byte ELSE 0e0 END) AS kv_cache_byte,
    -- Bytes of results written. [byte]
    SUM(CASE WHEN b.direction = 'write' THEN b.moved_byte ELSE 0e0 END) AS output_byte,
    -- Part of the bytes read that an earlier kernel of the run wrote. [byte]
    SUM(CASE WHEN b.direction = 'read' AND b.is_produced THEN b.moved_byte ELSE 0e0 END) AS produced_byte,
    -- Size of the largest activation, model input or result that crosses the border. [byte]
    MAX(CASE WHEN b.role IN ('input', 'output') THEN b.moved_byte ELSE 0e0 END) AS largest_byte
FROM border_byte AS b
WHERE b.backend = b.run_backend
GROUP BY b.run, b.kernel_id

