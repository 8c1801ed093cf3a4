-- Inputs of the strategies of `parallel_plan` for every link and number of devices: sums over all kernels of a run, over the
-- kernels that are split, and over the largest pipeline group (`parallel_group`).
-- Grain: run, hardware, interconnect, device_count
CREATE VIEW parallel_link AS
WITH run_sums AS (
    SELECT
        run,
        hardware,
        device_count,
        MAX(run_call_s) AS run_call_s,
        SUM(group_s) AS kernels_s,
        SUM(host_issue_s) AS host_issue_s,
        SUM(tensor_spared_s) AS tensor_spared_s,
        SUM(all_reduce_byte) AS all_reduce_byte,
        SUM(all_reduce_count) AS all_reduce_count,
        SUM(all_gather_byte) AS all_gather_byte,
        SUM(all_gather_count) AS all_gather_count,
        SUM(all_to_all_byte) AS all_to_all_byte,
        SUM(all_to_all_count) AS all_to_all_count,
        SUM(expert_read_byte) AS expert_read_byte,
        SUM(expert_spared_s) AS expert_spared_s,
        SUM(tensor_weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS tensor_weight_fraction,
        SUM(tensor_cache_byte) / NULLIF(SUM(kv_cache_byte), 0e0) AS tensor_cache_fraction,
        MAX(kv_cache_byte) / NULLIF(SUM(kv_cache_byte), 0e0) AS group_cache_fraction,
        MAX(expert_count) AS expert_count,
        SUM(expert_weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS expert_weight_fraction,
        MAX(weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS group_weight_fraction,
        COUNT(*) AS group_count,
        MAX(group_s) AS group_s,
        MAX(send_byte) AS group_sent_byte,
        SUM(send_byte) AS sent_byte,
        SUM(CASE WHEN send_byte > 0e0 THEN 1 ELSE 0 END) AS send_count
    FROM parallel_group
    GROUP BY run, hardware, device_count
)

SELECT
    s.run,
    s.hardware,
    k.interconnect,
    -- Number of devices.
    CAST(s.device_count AS BIGINT) AS device_count,
    k.link_byte_per_s,
    k.link_s,
    k.collective_call_s,
    k.collective_step_s,
    k.collective_byte_per_s,
    k.collective_assumed_count,
    s.run_call_s,
    -- Time of all kernels of the run. [s]
    s.kernels_s,
    -- Time of the run on a single part: the run's call and all kernels. [s]
    s.run_call_s + s.kernels_s AS single_s,
    -- Host time to issue all kernels, the run's call included. [s]
    s.run_call_s + s.host_issue_s AS host_issue_s,
    -- Time that a device saves in tensor parallelism, because other devices execute part of its kernels. [s]
    s.tensor_spared_s,
    -- Bytes that all-reduces combine in tensor parallelism. [byte]
    s.all_reduce_byte,
    -- Number of all-reduces in tensor parallelism.
    CAST(s.all_reduce_count AS BIGINT) AS all_reduce_count,
    -- Bytes that all-gathers collect in tensor parallelism. [byte]
    s.all_gather_byte,
    -- Number of all-gathers in tensor parallelism.
    CAST(s.all_gather_count AS BIGINT) AS all_gather_count,
    -- Bytes that expert parallelism sends to the experts and back. [byte]
    s.all_to_all_byte,
    -- Number of all-to-alls in expert parallelism.
    CAST(s.all_to_all_count AS BIGINT) AS all_to_all_count,
    -- Weights of experts that a device reads in expert parallelism. [byte]
    s.expert_read_byte,
    -- Time that a device saves in expert parallelism, because it does not read the experts of other devices. [s]
    s.expert_spared_s,
    -- Share of the weights on one device in tensor parallelism.
    COALESCE(s.tensor_weight_fraction, 1e0) AS tensor_weight_fraction,
    -- Share of the KV cache on one device in tensor parallelism.
    COALESCE(s.tensor_cache_fraction, 1e0) AS tensor_cache_fraction,
    -- Largest share of the KV cache in one pipeline group.
    COALESCE(s.group_cache_fraction, 1e0) AS group_cache_fraction,
    -- Share of the experts on one device in expert parallelism.
    device_share(s.expert_count, s.device_count) AS expert_share,
    -- Share of the weights that belongs to experts.
    COALESCE(s.expert_weight_fraction, 0e0) AS expert_weight_fraction,
    -- Largest share of the weights in one pipeline group.
    COALESCE(s.group_weight_fraction, 1e0) AS group_weight_fraction,
    -- Number of pipeline groups that contain kernels.
    s.group_count,
    -- Time of the kernels of the slowest pipeline group. [s]
    s.group_s,
    -- Most bytes that one pipeline group sends to the next. [byte]
    s.group_sent_byte,
    -- Bytes that all pipeline groups send. [byte]
    s.sent_byte,
    -- Number of pipeline groups that send.
    CAST(s.send_count AS BIGINT) AS send_count,
    m.is_training,
    -- Size of the weights, buffers and constants. [byte]
    e.weight_byte + e.buffer_byte AS model_byte,
    e.gradient_byte,
    e.kv_cache_byte,
    -- Size of the gradients and activations at their peak, rounding to the allocator's blocks and workspace included. [byte]
    e.gradient_byte + e.activation_byte + e.rounding_byte + e.workspace_byte AS activation_byte,
    -- Ratio of the bytes that a device sends in a ring all-reduce to the bytes that are reduced (Patarasuk and Yuan 2009).
    2e0 * (s.device_count - 1e0) / NULLIF(s.device_count, 0) AS reduce_share,
    -- Ratio of the bytes that a device sends in an all-gather or all-to-all to the bytes that are collected.
    (s.device_count - 1e0) / NULLIF(s.device_count, 0) AS gather_share
FROM run_sums AS s
INNER JOIN part_link AS k
    ON k.hardware = s.hardware AND k.link_device_count >= s.device_count
    AND (s.device_count > 1 OR k.interconnect = 'none')
INNER JOIN model AS m ON m.model = s.run.model
INNER JOIN run_memory AS e ON e.run = s.run
