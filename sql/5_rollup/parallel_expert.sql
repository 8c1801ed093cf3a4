-- Expert parallel: batches as in data parallel, experts spread over the devices, an all-to-all of (N-1)/N * V in N-1 steps
-- before and after. Tokens of all batches meet the experts that a device holds: it reads those, not one batch's of all.
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_expert AS
SELECT
    *,
    -- Time a device computes in a round of expert parallel. [s]
    GREATEST(single_s - expert_spared_s, LEAST(single_s, host_issue_s)) AS expert_compute_s,
    -- Time it communicates. [s]
    gather_share * all_to_all_byte / NULLIF(collective_byte_per_s, 0e0)
    + all_to_all_count * (collective_call_s + (device_count - 1e0) * collective_step_s) AS expert_communication_s,
    -- Bytes it sends. [byte]
    gather_share * all_to_all_byte AS expert_sent_byte,
    -- Memory it needs. [byte]
    model_byte * (1e0 - expert_weight_fraction * (1e0 - expert_share)) + kv_cache_byte + activation_byte
        AS expert_memory_byte
FROM parallel_pipeline
