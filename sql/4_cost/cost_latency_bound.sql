-- Latency of dependent memory accesses: each thread of PyTorch's own GPU kernel makes several in sequence. In channels-last, each
-- element has a separate thread.
-- Term: latency, memory, accesses, , , latency_bound_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_latency_bound AS
SELECT
    *,
    -- Time of the dependent accesses; 0 for other kernels. [s]
    CASE WHEN follows_strides AND layout <> 'nhwc' THEN accesses * memory_latency_s ELSE 0e0 END AS latency_bound_s
FROM cost_cache
