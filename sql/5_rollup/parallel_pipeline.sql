-- Pipeline parallelism: kernels are divided into N consecutive groups of about equal time, each launched by a separate call. With M
-- = 4 N batches in flight the bubble is small; a round takes (M + N - 1) * slowest group (Huang et al. 2019, GPipe).
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_pipeline AS
WITH sent_groups AS (
    SELECT
        *,
        4e0 * device_count AS pipeline_batches,
        group_sent_byte / NULLIF(link_byte_per_s, 0e0) + CASE WHEN group_sent_byte > 0e0 THEN link_s ELSE 0e0 END AS send_s
    FROM parallel_tensor
)

SELECT
    * EXCLUDE (send_s, pipeline_batches),
    -- Number of batches in flight in a round of pipeline parallelism.
    pipeline_batches,
    -- Average time that a device computes in a round. [s]
    pipeline_batches * (kernels_s + group_count * run_call_s) / NULLIF(device_count, 0) AS pipeline_compute_s,
    -- Time that each device communicates in a round. [s]
    pipeline_batches * send_s AS pipeline_communication_s,
    -- Bubble: time that each device waits for other devices in a round. [s]
    (pipeline_batches + device_count - 1e0) * (run_call_s + group_s + send_s)
    - pipeline_batches * (kernels_s + group_count * run_call_s) / NULLIF(device_count, 0)
    - pipeline_batches * send_s AS pipeline_bubble_s,
    -- Time until the result of a batch. [s]
    kernels_s + group_count * run_call_s + sent_byte / NULLIF(link_byte_per_s, 0e0) + send_count * link_s
        AS pipeline_latency_s,
    -- Bytes that each device sends in a round. [byte]
    pipeline_batches * group_sent_byte AS pipeline_sent_byte,
    -- Memory that the model needs on each device: the weights of the device's group, the group's KV cache for one batch per group,
    -- and activations. [byte]
    model_byte * group_weight_fraction + group_count * kv_cache_byte * group_cache_fraction + activation_byte
        AS pipeline_memory_byte
FROM sent_groups
