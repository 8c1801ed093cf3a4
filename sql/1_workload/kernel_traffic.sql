-- Bytes that cross the border of every kernel in a run, by role.
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW kernel_traffic (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel.
    subgraph_id,
    -- Activations and model inputs read. [byte]
    input_byte,
    -- Weights, buffers and constants read. [byte]
    weight_byte,
    -- KV-cache read. [byte]
    kv_cache_byte,
    -- Results written. [byte]
    output_byte,
    -- Part of the reads that an earlier kernel of the run wrote. [byte]
    produced_byte,
    -- Largest activation, model input or result among them. [byte]
    largest_byte
) AS
SELECT
    r.model_id,
    r.scenario_id,
    b.subgraph_id,
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'input' THEN b.moved_byte ELSE 0e0 END) AS input_byte,
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'weight' THEN b.moved_byte ELSE 0e0 END) AS weight_byte,
    SUM(CASE WHEN b.direction = 'read' AND b.role = 'kv_cache' THEN b.moved_byte ELSE 0e0 END) AS kv_cache_byte,
    SUM(CASE WHEN b.direction = 'write' THEN b.moved_byte ELSE 0e0 END) AS output_byte,
    SUM(CASE WHEN b.direction = 'read' AND b.is_produced THEN b.moved_byte ELSE 0e0 END) AS produced_byte,
    MAX(CASE WHEN b.role IN ('input', 'output') THEN b.moved_byte ELSE 0e0 END) AS largest_byte
FROM run AS r
INNER JOIN border_byte AS b
    ON b.model_id = r.model_id AND b.scenario_id = r.scenario_id AND b.backend = r.backend
GROUP BY r.model_id, r.scenario_id, b.subgraph_id
