-- Training step on the slowest device of a split, as a sum of terms. A pipeline of p stages with v groups of layers each has a
-- bubble of (p - 1) / v stage times of one micro batch (Narayanan et al. 2021).
-- Grain: run, hardware, split
CREATE VIEW split_step AS
WITH stages AS (
    SELECT
        b.*,
        d.pipeline,
        d.interleave,
        d.micro_batches,
        d.zero_stage,
        d.data,
        m.replicas,
        m.expert_replicas,
        m.dense_count,
        m.expert_count,
        m.dense_byte,
        m.expert_byte,
        m.parameter_byte,
        o.moved_byte / NULLIF(o.bandwidth_fraction * b.dram_byte_per_s, 0e0) AS weight_step_s,
        f.reduce_byte,
        l.replica_byte_per_s,
        l.replica_step_s,
        l.collective_call_s,
        b.stage_share * (b.forward_s + b.backward_s) + CASE
            WHEN d.pipeline = 1 THEN b.first_s + b.last_s
            ELSE GREATEST(b.first_s, b.last_s)
        END + m.unpacked_byte * CASE WHEN d.recompute = 'full' THEN 2e0 + 1e0 ELSE 2e0 END
        / NULLIF(o.bandwidth_fraction * b.dram_byte_per_s, 0e0) AS compute_s,
        CASE
            WHEN d.pipeline = 1 THEN 0e0
            ELSE 2e0 * d.interleave * (
                r.hidden_byte / NULLIF(d.context * b.whole_parts * l.send_byte_per_s, 0e0) + l.send_s
            )
        END AS send_s
    FROM split_micro_batch AS b
    INNER JOIN device_split AS d ON d.split = b.split
    INNER JOIN split_framework AS y ON y.backend = b.run.backend AND y.split = d.split
    INNER JOIN framework AS f ON f.framework = y.framework
    INNER JOIN optimizer AS o ON o.optimizer = d.optimizer
    INNER JOIN split_link AS l ON l.hardware = b.hardware AND l.split = b.split
    INNER JOIN layered_run AS r ON r.run = b.run
    INNER JOIN split_memory AS m ON m.run = b.run AND m.split = b.split
),

micro_batches AS (
    SELECT
        *,
        stage_share * recompute_s AS again_s,
        stage_share * tensor_s + end_tensor_s AS shared_s,
        stage_share * (forward_s + backward_s + recompute_s + tensor_s + expert_s + context_s) AS layers_s,
        CASE WHEN zero_stage = 3 THEN micro_batches ELSE 1 END AS rounds
    FROM stages
),

-- Replicas all-reduce gradients in a ring. Sharded optimizer states or gradients need the same transfers; sharded weights are
-- gathered in both passes of every micro batch (Rajbhandari et al. 2019).
data_times AS (
    SELECT
        *,
        GREATEST(
            0e0, stage_share * host_s + end_host_s - compute_s - again_s - shared_s - stage_share * (expert_s + context_s)
        ) AS waiting_s,
        CASE WHEN replicas = 1 THEN 0e0 WHEN zero_stage = 0 THEN
            ring_time(replicas, reduce_byte * dense_count, 1e0, 0e0, 0e0, replica_byte_per_s, collective_call_s, replica_step_s)
        ELSE
            ring_time(
                replicas, 0e0, 0e0,
                rounds * (reduce_byte * dense_count + CASE WHEN zero_stage = 3 THEN 2e0 * dense_byte
                    ELSE dense_count * parameter_byte END),
                rounds * CASE WHEN zero_stage = 3 THEN (2e0 + 1e0) * layers * stage_share ELSE 2e0 END,
                replica_byte_per_s, collective_call_s, replica_step_s
            )
        END AS dense_s,
        CASE WHEN expert_replicas <= 1e0 OR expert_count = 0e0 THEN 0e0 WHEN zero_stage = 0 THEN
            ring_time(expert_replicas, reduce_byte * expert_count, 1e0, 0e0, 0e0, replica_byte_per_s, collective_call_s, replica_step_s)
        ELSE
            ring_time(
                expert_replicas, 0e0, 0e0,
                rounds * (reduce_byte * expert_count + CASE WHEN zero_stage = 3 THEN 2e0 * expert_byte
                    ELSE expert_count * parameter_byte END), 2e0 * rounds,
                replica_byte_per_s, collective_call_s, replica_step_s
            )
        END AS experts_s
    FROM micro_batches
)

SELECT
    run,
    hardware,
    split,
    dense_ops_per_s,
    static_w,
    -- Time of the forward and backward passes, the unpacking of frozen weights in each pass included. [s]
    micro_batches * compute_s AS compute_s,
    -- Time to recompute forward passes. [s]
    micro_batches * again_s AS recompute_s,
    -- Time of the collectives of tensor parallelism. [s]
    micro_batches * shared_s AS tensor_s,
    -- Time of the all-to-alls of expert parallelism. [s]
    micro_batches * stage_share * expert_s AS expert_s,
    -- Exposed time of the transfers of keys and values. [s]
    micro_batches * stage_share * context_s AS context_s,
    -- Time of transfers between pipeline stages. [s]
    (micro_batches + (pipeline - 1e0) / NULLIF(interleave, 0)) * send_s AS send_s,
    -- Bubble: time waiting for other pipeline stages. [s]
    (pipeline - 1e0) / NULLIF(interleave, 0) * layers_s AS bubble_s,
    -- Time waiting for the host, the run's call included. [s]
    micro_batches * waiting_s + run_call_s AS host_s,
    -- Time of the transfers of gradients and weights between replicas, overlapped or not. [s]
    dense_s + experts_s AS sync_s,
    -- Exposed part of `sync_s`: a framework overlaps these transfers with a share of the computing (`overlap_fraction`), except the
    -- transfers of the first or last layer. [s]
    GREATEST(
        dense_s + experts_s - overlap_fraction * CASE
            WHEN zero_stage = 3 THEN micro_batches * (compute_s + again_s)
            WHEN zero_stage = 0 THEN stage_share * backward_s
            ELSE stage_share * (forward_s + backward_s)
        END,
        COALESCE((dense_s + experts_s) / NULLIF(layers * stage_share * rounds, 0e0), dense_s + experts_s)
    ) AS data_s,
    -- Time of the optimizer's step. [s]
    weight_step_s * CASE
        WHEN zero_stage = 0 THEN dense_count + expert_count
        ELSE dense_count / NULLIF(replicas, 0) + expert_count / NULLIF(expert_replicas, 0e0)
    END AS optimizer_s,
    -- Energy of arithmetic and traffic of all devices; null when a coefficient is missing. [J]
    micro_batches * data * layer_factor * (
        dynamic_energy_j + CASE WHEN recompute_s > 0e0 THEN forward_energy_j * recompute_s / NULLIF(forward_s, 0e0) ELSE 0e0 END
    ) AS dynamic_energy_j
FROM data_times
