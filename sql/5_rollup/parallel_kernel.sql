-- Every kernel of a run on a part with the kernel's times and its treatment when the model is split over several devices
-- (`split_kernel`).
-- Grain: run, hardware, kernel_id
CREATE VIEW parallel_kernel AS
SELECT
    s.run,
    k.hardware,
    k.kernel_id,
    k.position,
    k.latency_s,
    -- Part of `latency_s` in which the device is busy. [s]
    k.latency_s - k.overhead_s AS busy_s,
    k.host_issue_s,
    k.run_call_s,
    s.is_split,
    s.pieces,
    s.fewer_pieces,
    -- Share of the kernel's time that is spent on reading the KV cache, if the model has fewer key-value heads than query heads.
    GREATEST(
        s.fewer_fraction,
        CASE WHEN k.compute_s < k.memory_s THEN COALESCE(k.kv_cache_byte / NULLIF(k.traffic_byte, 0e0), 0e0) ELSE 0e0 END
    ) AS fewer_fraction,
    k.kv_cache_byte,
    s.expert_count,
    s.all_reduce_byte,
    s.all_gather_byte,
    s.is_expert,
    s.all_to_all_byte,
    -- Weights of experts that the kernel reads; 0 for other kernels. [byte]
    CASE WHEN s.is_expert THEN k.weight_byte ELSE 0e0 END AS expert_read_byte,
    -- Part of the kernel's time in which reading weights of experts sets the pace. [s]
    CASE
        WHEN s.is_expert AND k.compute_s < k.memory_s
            THEN (k.latency_s - k.overhead_s) * k.weight_byte / NULLIF(k.traffic_byte, 0e0)
        ELSE 0e0
    END AS expert_read_s,
    s.weight_byte,
    s.crossing_byte,
    -- Middle of the kernel's time, from the start of the first kernel. [s]
    k.end_s - 0.5e0 * k.latency_s AS middle_s,
    -- Time of all kernels of the run. [s]
    MAX(k.end_s) OVER (PARTITION BY s.run, k.hardware) AS kernels_s
FROM kernel_time AS k
INNER JOIN split_kernel AS s
    ON s.run.model = k.model AND s.run.backend = k.backend AND s.run.precision = k.precision AND s.run.batch = k.batch
    AND s.run.sequence = k.sequence AND s.run.scenario_id = k.scenario_id AND s.kernel_id = k.kernel_id
