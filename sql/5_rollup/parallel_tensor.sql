-- Tensor parallelism: all devices share one batch. A pair of split products ends in a ring all-reduce; an all-gather sends half as
-- many bytes in half as many steps. Split kernels are assumed to be as efficient as whole kernels, so the times are lower bounds.
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_tensor AS
SELECT
    *,
    -- Time that each device computes in a round of tensor parallelism, at least the host time to issue the kernels. [s]
    GREATEST(single_s - tensor_spared_s, host_issue_s) AS tensor_compute_s,
    -- Time that each device communicates in a round. [s]
    ring_time(
        device_count, all_reduce_byte, all_reduce_count, all_gather_byte, all_gather_count, collective_byte_per_s,
        collective_call_s, collective_step_s
    ) AS tensor_communication_s,
    -- Bytes that each device sends in a round. [byte]
    reduce_share * all_reduce_byte + gather_share * all_gather_byte AS tensor_sent_byte,
    -- Memory that the model needs on each device. [byte]
    model_byte * tensor_weight_fraction + kv_cache_byte * tensor_cache_fraction + activation_byte AS tensor_memory_byte
FROM parallel_data
