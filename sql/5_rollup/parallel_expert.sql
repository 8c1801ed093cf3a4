-- Expert parallelism: batches as in data parallelism, experts distributed over the devices, and an all-to-all of (N-1)/N * V in N-1
-- steps before and after them. Tokens of all batches use the experts of a device, so that it reads its own experts instead of one
-- batch's share of all.
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_expert AS
SELECT
    *,
    -- Time that a device computes in a round of expert parallelism. [s]
    GREATEST(single_s - expert_spared_s, LEAST(single_s, host_issue_s)) AS expert_compute_s,
    -- Time that a device communicates. [s]
    gather_share * all_to_all_byte / NULLIF(collective_byte_per_s, 0e0)
    + all_to_all_count * (collective_call_s + (device_count - 1e0) * collective_step_s) AS expert_communication_s,
    -- Bytes that a device sends. [byte]
    gather_share * all_to_all_byte AS expert_sent_byte,
    -- Memory of a device. [byte]
    model_byte * (1e0 - expert_weight_fraction * (1e0 - expert_share)) + kv_cache_byte + activation_byte
        AS expert_memory_byte
FROM parallel_pipeline
