-- Times of one micro batch on one device of a split: computing and transfers of all layers, and of the kernels before and after the
-- layers.
-- Grain: run, hardware, split
CREATE VIEW split_micro_batch AS
WITH joined_sums AS (
    SELECT
        g.*,
        m.split,
        m.layers,
        m.layer_factor,
        m.stage_share,
        m.whole_parts,
        m.work_share,
        m.core_share,
        m.cache_share,
        d.tensor,
        d.context,
        d.expert,
        d.pipeline,
        d.recompute,
        d.adapter_rank,
        CASE WHEN d.recompute = 'full' THEN 1e0 ELSE 0e0 END AS repeats,
        f.kernel_factor,
        COALESCE(
            CASE WHEN h.matrix_instruction = 'wgmma' THEN f.warpgroup_attention_factor ELSE f.attention_factor END, f.kernel_factor
        ) AS core_factor,
        f.overlap_fraction,
        f.tensor_fraction,
        r.forward_reduce_byte,
        r.backward_reduce_byte,
        r.forward_reduce_count,
        r.backward_reduce_count,
        r.end_reduce_byte,
        r.end_reduce_count,
        r.block_gather_byte,
        r.block_gather_count,
        r.end_gather_byte,
        r.end_gather_count,
        r.forward_exchange_byte,
        r.backward_exchange_byte,
        r.forward_exchange_count,
        t.kv_byte,
        l.collective_call_s,
        l.tensor_byte_per_s,
        l.tensor_step_s,
        l.context_byte_per_s,
        l.context_step_s,
        l.expert_byte_per_s,
        l.expert_step_s
    FROM training_sum AS g
    INNER JOIN trained_run AS t ON t.run = g.run
    INNER JOIN layered_run AS r ON r.run = g.run
    INNER JOIN split_weight AS m ON m.run = g.run
    INNER JOIN device_split AS d ON d.split = m.split
    INNER JOIN split_framework AS y ON y.backend = g.run.backend AND y.split = d.split
    INNER JOIN framework AS f ON f.framework = y.framework
    INNER JOIN split_link AS l ON l.hardware = g.hardware AND l.split = m.split
    INNER JOIN part AS h ON h.hardware = g.hardware
    WHERE g.fault IS NULL
),

computed_times AS (
    SELECT
        *,
        layer_factor * (
            kernel_factor * forward_split_s * work_share + (core_factor - kernel_factor) * forward_core_s * core_share
            + kernel_factor * forward_whole_s / NULLIF(whole_parts, 0)
        ) / NULLIF(context, 0) AS forward_s,
        layer_factor * (
            kernel_factor * (backward_split_s - CASE WHEN adapter_rank IS NULL THEN 0e0 ELSE backward_weighted_s / 2e0 END)
            * work_share
            + (core_factor - kernel_factor) * backward_core_s * core_share
            + kernel_factor * backward_whole_s / NULLIF(whole_parts, 0)
        ) / NULLIF(context, 0) AS backward_s,
        core_factor * layer_factor * forward_core_s * core_share / NULLIF(context, 0) AS core_s,
        core_factor * layer_factor * backward_core_s * core_share / NULLIF(context, 0) AS core_backward_s,
        kernel_factor * (first_split_s / NULLIF(tensor, 0) + first_whole_s / NULLIF(whole_parts, 0)) / NULLIF(context, 0)
            AS first_s,
        kernel_factor * (last_split_s / NULLIF(tensor, 0) + last_whole_s / NULLIF(whole_parts, 0)) / NULLIF(context, 0)
            AS last_s,
        (context - 1e0) / NULLIF(context, 0) * layer_factor * kv_byte * cache_share / NULLIF(context_byte_per_s, 0e0)
        + (context - 1e0) * layers * context_step_s AS turn_s
    FROM joined_sums
)

SELECT
    run,
    hardware,
    split,
    layers,
    layer_factor,
    stage_share,
    whole_parts,
    overlap_fraction,
    dram_byte_per_s,
    dense_ops_per_s,
    static_w,
    run_call_s,
    dynamic_energy_j,
    forward_energy_j,
    -- Time of the forward pass of all layers. [s]
    forward_s,
    -- Time of the backward pass of all layers; gradients of weights are excluded if adapters are trained. [s]
    backward_s,
    -- Time of the part of the forward pass that the backward pass recomputes. [s]
    CASE recompute WHEN 'full' THEN forward_s WHEN 'selective' THEN core_s ELSE 0e0 END AS recompute_s,
    -- Time of the kernels before the layers in both passes. [s]
    first_s,
    -- Time of the kernels after the layers in both passes. [s]
    last_s,
    -- Exposed time of tensor-parallel transfers of the layers: all-reduces of partial results in both passes (Shoeybi et al. 2019),
    -- once more where a layer is recomputed, and all-gathers of results that are needed whole. [s]
    tensor_fraction * ring_time(
        tensor, ((1e0 + repeats) * forward_reduce_byte + backward_reduce_byte) * layer_factor / NULLIF(context, 0),
        ((1e0 + repeats) * forward_reduce_count + backward_reduce_count) * layer_factor,
        (2e0 + repeats) * block_gather_byte * layer_factor / NULLIF(context, 0), (2e0 + repeats) * block_gather_count * layer_factor,
        tensor_byte_per_s,
        CASE WHEN tensor > 1 THEN collective_call_s ELSE 0e0 END, tensor_step_s
    ) AS tensor_s,
    -- Time of tensor-parallel transfers of the kernels before and after the layers. [s]
    tensor_fraction * ring_time(
        tensor, end_reduce_byte / NULLIF(context, 0), end_reduce_count, 2e0 * end_gather_byte / NULLIF(context, 0),
        2e0 * end_gather_count, tensor_byte_per_s,
        CASE WHEN tensor > 1 THEN collective_call_s ELSE 0e0 END, tensor_step_s
    ) AS end_tensor_s,
    -- Time of the all-to-alls of expert parallelism. [s]
    CASE WHEN expert = 1 THEN 0e0 ELSE
        (expert - 1e0) / NULLIF(expert, 0) * layer_factor * ((1e0 + repeats) * forward_exchange_byte + backward_exchange_byte)
        / NULLIF(context * whole_parts * expert_byte_per_s, 0e0)
        + (2e0 + repeats) * layer_factor * forward_exchange_count * (collective_call_s + (expert - 1e0) * expert_step_s)
    END AS expert_s,
    -- Time of context-parallel transfers that do not overlap with attention: keys and values pass around a ring in the forward
    -- pass, and together with their gradients in the backward pass (Liu et al. 2023, Ring Attention). [s]
    (1e0 + repeats) * GREATEST(0e0, turn_s - core_s) + GREATEST(0e0, 2e0 * turn_s - core_backward_s) AS context_s,
    -- Host time to issue both passes of all layers. [s]
    ((1e0 + repeats) * forward_host_s + backward_host_s) * layer_factor AS host_s,
    end_host_s
FROM computed_times
