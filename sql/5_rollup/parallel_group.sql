-- Pipeline groups of a run: its kernels are divided into consecutive groups of about equal time, one per device. Each row also
-- contains the sums over a group's kernels that the other strategies of `parallel_plan` need.
-- Grain: run, hardware, device_count, pipeline_group
CREATE VIEW parallel_group AS
WITH grouped_kernels AS (
    SELECT
        k.*,
        d.device_count,
        CASE WHEN k.is_split THEN split_share(k.pieces, k.fewer_pieces, k.fewer_fraction, d.device_count) ELSE 1e0 END
            AS tensor_share,
        CASE WHEN k.is_split THEN device_share(COALESCE(k.fewer_pieces, k.pieces), d.device_count) ELSE 1e0 END AS cache_share,
        LEAST(d.device_count - 1e0, FLOOR(k.middle_s / NULLIF(k.kernels_s, 0e0) * d.device_count)) AS pipeline_group,
        CASE WHEN k.crossing_byte IS NOT NULL THEN k.position END AS cut_position,
        -- One batch uses a share r of the experts' weights, and N batches use 1 - (1 - r)^N. Each device stores whole experts.
        COALESCE(
            (1e0 - POWER(1e0 - LEAST(1e0, k.expert_read_byte / NULLIF(k.weight_byte, 0e0)), d.device_count))
            * k.weight_byte * device_share(k.expert_count, d.device_count) / NULLIF(k.expert_read_byte, 0e0), 1e0
        ) AS expert_read_factor
    FROM parallel_kernel AS k
    CROSS JOIN (VALUES (1), (2), (4), (8), (16), (32), (64)) AS d (device_count)
)

SELECT
    run,
    hardware,
    -- Number of devices.
    CAST(device_count AS BIGINT) AS device_count,
    -- Number of the pipeline group, from 0.
    pipeline_group,
    -- Host time of the run's call. [s]
    MAX(run_call_s) AS run_call_s,
    -- Time of the group's kernels. [s]
    SUM(latency_s) AS group_s,
    -- Host time to issue the group's kernels. [s]
    SUM(host_issue_s) AS host_issue_s,
    -- Time that a device saves in tensor parallelism, because other devices execute part of its kernels. [s]
    SUM(busy_s * (1e0 - tensor_share)) AS tensor_spared_s,
    -- Bytes that all-reduces combine in tensor parallelism. [byte]
    SUM(all_reduce_byte) AS all_reduce_byte,
    -- Number of all-reduces in tensor parallelism.
    CAST(SUM(CASE WHEN all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS BIGINT) AS all_reduce_count,
    -- Bytes that all-gathers collect in tensor parallelism. [byte]
    SUM(all_gather_byte) AS all_gather_byte,
    -- Number of all-gathers in tensor parallelism.
    CAST(SUM(CASE WHEN all_gather_byte > 0e0 THEN 1 ELSE 0 END) AS BIGINT) AS all_gather_count,
    -- Bytes that expert parallelism sends to the experts and back. [byte]
    SUM(all_to_all_byte) AS all_to_all_byte,
    -- Number of all-to-alls in expert parallelism.
    CAST(SUM(CASE WHEN all_to_all_byte > 0e0 THEN 1 ELSE 0 END) AS BIGINT) AS all_to_all_count,
    -- Weights of experts that a device reads in expert parallelism. [byte]
    SUM(expert_read_byte * expert_read_factor) AS expert_read_byte,
    -- Time that a device saves in expert parallelism, because it does not read the experts of other devices. [s]
    SUM(expert_read_s * (1e0 - expert_read_factor)) AS expert_spared_s,
    -- Weights of the group. [byte]
    SUM(weight_byte) AS weight_byte,
    -- Part of the group's weights on one device in tensor parallelism. [byte]
    SUM(weight_byte * tensor_share) AS tensor_weight_byte,
    -- KV cache that the group reads. [byte]
    SUM(kv_cache_byte) AS kv_cache_byte,
    -- Part of the group's KV cache on one device in tensor parallelism. [byte]
    SUM(kv_cache_byte * cache_share) AS tensor_cache_byte,
    -- Number of experts per layer; null without experts.
    MAX(expert_count) AS expert_count,
    -- Part of the group's weights that belongs to experts. [byte]
    SUM(CASE WHEN is_expert THEN weight_byte ELSE 0e0 END) AS expert_weight_byte,
    -- Bytes that the group sends to the next group. [byte]
    COALESCE(MAX_BY(crossing_byte, cut_position), 0e0) AS send_byte
FROM grouped_kernels
GROUP BY run, hardware, device_count, pipeline_group
