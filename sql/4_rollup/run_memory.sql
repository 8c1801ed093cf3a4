-- Peak memory of every run and what it is made of.
-- Grain: model_id, scenario_id
CREATE VIEW run_memory (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Parameters. [byte]
    weight_byte,
    -- Buffers and constants. [byte]
    buffer_byte,
    -- Key-value cache. [byte]
    kv_cache_byte,
    -- Most bytes of activations, inputs and converted copies held at once. [byte]
    activation_byte,
    -- What the allocator's blocks add to them at that moment. [byte]
    rounding_byte,
    -- Scratch memory of the backend: its share of the activations. [byte]
    workspace_byte,
    -- Sum of all of these. [byte]
    peak_memory_byte,
    -- Kernel at which the activations peak, the first of equals.
    peak_subgraph_id
) AS
WITH activation_peaks AS (
    SELECT
        model_id,
        scenario_id,
        MAX(allocated_byte) AS allocated_byte,
        MAX_BY(live_byte, allocated_byte - subgraph_id / 1e7) AS live_byte,
        MAX_BY(subgraph_id, allocated_byte - subgraph_id / 1e7) AS peak_subgraph_id
    FROM memory_step
    GROUP BY model_id, scenario_id
)

SELECT
    r.model_id,
    r.scenario_id,
    s.weight_byte,
    s.buffer_byte,
    s.kv_cache_byte,
    COALESCE(a.live_byte, 0e0) AS activation_byte,
    COALESCE(a.allocated_byte - a.live_byte, 0e0) AS rounding_byte,
    COALESCE(b.workspace_fraction * a.allocated_byte, 0e0) AS workspace_byte,
    s.weight_byte + s.buffer_byte + s.kv_cache_byte
    + COALESCE((1e0 + b.workspace_fraction) * a.allocated_byte, 0e0) AS peak_memory_byte,
    a.peak_subgraph_id
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.backend
INNER JOIN resident_byte AS s ON s.model_id = r.model_id AND s.scenario_id = r.scenario_id
LEFT JOIN activation_peaks AS a ON a.model_id = r.model_id AND a.scenario_id = r.scenario_id
