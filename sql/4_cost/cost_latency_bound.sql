-- Accesses that each thread of PyTorch's own GPU kernel makes one after another; channels-last, each element has a thread
-- of its own.
-- Term: latency, memory, accesses, , , latency_bound_s,
-- Link: 40
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_latency_bound AS
SELECT
    * EXCLUDE (memory_s, memory_level),
    -- Time of those accesses; 0 where others answer for it. [s]
    CASE WHEN follows_strides AND layout <> 'nhwc' THEN accesses * memory_latency_s ELSE 0e0 END AS latency_bound_s,
    GREATEST(memory_s, latency_bound_s) AS memory_s,
    CASE WHEN latency_bound_s > memory_s THEN 'latency' ELSE memory_level END AS memory_level
FROM previous
