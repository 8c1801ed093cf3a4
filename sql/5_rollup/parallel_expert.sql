-- Expert parallelism on N devices: every device runs the scenario's batch and stores some of the experts. An all-to-all before and
-- after the experts sends (N-1)/N * V in N-1 steps. A device reads the weights of its experts that receive tokens from any device,
-- instead of those that one batch uses of all experts.
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_expert AS
SELECT
    *,
    -- Time that each device computes in a round of expert parallelism. [s]
    GREATEST(single_s - expert_spared_s, LEAST(single_s, host_issue_s)) AS expert_compute_s,
    -- Time that each device communicates in a round. [s]
    gather_share * all_to_all_byte / NULLIF(collective_byte_per_s, 0e0)
    + all_to_all_count * (collective_call_s + (device_count - 1e0) * collective_step_s) AS expert_communication_s,
    -- Bytes that each device sends in a round. [byte]
    gather_share * all_to_all_byte AS expert_sent_byte,
    -- Memory that the model needs on each device. [byte]
    model_byte * (1e0 - expert_weight_fraction * (1e0 - expert_share)) + kv_cache_byte + activation_byte
        AS expert_memory_byte
FROM parallel_pipeline
