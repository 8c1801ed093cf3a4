-- Memory of a device of a split in training: the weights of the device's pipeline stage, the gradients and optimizer states,
-- sharded by the stage of ZeRO (Rajbhandari et al. 2019), and the activations saved for the micro batches in flight, L (1 + (p - 1)
-- / (p v)) layers in the first stage (Korthikanti et al. 2022). The rest of the activations' peak (`run_memory`), such as gradients
-- of activations, is added once.
-- Grain: run, split
CREATE VIEW split_memory AS
WITH weights AS (
    SELECT
        t.*,
        w.split,
        w.layers,
        w.layer_factor,
        w.stage_share,
        w.whole_parts,
        w.layer_byte,
        w.own_expert_byte,
        w.end_byte,
        w.trained_layer_byte,
        w.trained_expert_byte,
        w.trained_end_byte,
        d.tensor,
        d.context,
        device_share(r.expert_count, d.expert) AS expert_share,
        d.zero_stage,
        d.recompute,
        d.adapter_rank,
        CAST(d.context * d.data AS BIGINT) AS replicas,
        CASE WHEN d.adapter_rank IS NULL OR p.bits IS NULL THEN 1e0 ELSE p.bits / NULLIF(8e0 * t.parameter_byte, 0e0) END
            AS frozen_factor,
        o.gradient_byte AS one_gradient_byte,
        CASE WHEN t.parameter_byte < o.master_byte THEN o.master_byte ELSE 0e0 END + o.state_byte AS kept_byte,
        COALESCE(
            d.adapter_rank * t.adapter_width * w.layer_factor * w.stage_share * device_share(d.adapter_rank, d.tensor), 0e0
        ) AS adapter_count,
        w.layer_factor * (t.split_saved_byte * w.work_share + t.whole_saved_byte / NULLIF(w.whole_parts, 0))
        / NULLIF(d.context, 0) AS all_saved_byte,
        w.layer_factor * t.core_saved_byte * w.core_share / NULLIF(d.context, 0) AS core_byte,
        w.layers * r.hidden_byte / NULLIF(w.whole_parts * d.context, 0) AS input_byte,
        w.stage_share * LEAST(d.micro_batches, d.pipeline) * CASE
            WHEN d.interleave > 1 AND d.pipeline > 1 THEN 1e0 + (d.pipeline - 1e0) / NULLIF(d.pipeline * d.interleave, 0)
            ELSE 1e0
        END AS kept_layers
    FROM trained_run AS t
    INNER JOIN split_weight AS w ON w.run = t.run
    INNER JOIN layered_run AS r ON r.run = t.run
    INNER JOIN device_split AS d ON d.split = w.split
    INNER JOIN optimizer AS o ON o.optimizer = d.optimizer
    LEFT JOIN precision AS p ON p.precision = d.frozen_precision
),

trained_weights AS (
    SELECT
        *,
        CASE
            WHEN adapter_rank IS NULL THEN (trained_layer_byte + trained_end_byte) / NULLIF(parameter_byte, 0e0)
            ELSE adapter_count
        END AS dense_count,
        CASE WHEN adapter_rank IS NULL THEN trained_expert_byte / NULLIF(parameter_byte, 0e0) ELSE 0e0 END AS expert_count,
        (layer_byte * frozen_factor + end_byte + adapter_count * parameter_byte) AS dense_byte,
        own_expert_byte * frozen_factor AS expert_byte,
        replicas * expert_share AS expert_replicas
    FROM weights
),

held_bytes AS (
    SELECT
        *,
        CASE
            WHEN zero_stage < 3 THEN dense_byte + expert_byte
            ELSE dense_byte / NULLIF(replicas, 0) + expert_byte / NULLIF(expert_replicas, 0e0)
                + 2e0 * (layer_byte * frozen_factor + expert_byte) / NULLIF(layers * stage_share, 0e0)
        END AS weight_byte,
        one_gradient_byte * CASE
            WHEN zero_stage < 2 THEN dense_count + expert_count
            ELSE dense_count / NULLIF(replicas, 0) + expert_count / NULLIF(expert_replicas, 0e0)
        END AS gradient_byte,
        kept_byte * CASE
            WHEN zero_stage < 1 THEN dense_count + expert_count
            ELSE dense_count / NULLIF(replicas, 0) + expert_count / NULLIF(expert_replicas, 0e0)
        END AS optimizer_byte,
        kept_layers * CASE recompute
            WHEN 'full' THEN input_byte
            WHEN 'selective' THEN all_saved_byte - core_byte
            ELSE all_saved_byte
        END + CASE WHEN recompute = 'full' THEN COALESCE(all_saved_byte / NULLIF(layers, 0e0), 0e0) ELSE 0e0 END
        + (end_split_saved_byte / NULLIF(tensor, 0) + end_whole_saved_byte / NULLIF(whole_parts, 0)) / NULLIF(context, 0)
        + GREATEST(
            0e0, (split_moment_byte / NULLIF(tensor, 0) + whole_moment_byte / NULLIF(whole_parts, 0)) / NULLIF(context, 0)
        ) AS activation_byte
    FROM trained_weights
)

SELECT
    run,
    split,
    layers,
    layer_factor,
    stage_share,
    whole_parts,
    -- Number of replicas of a weight: degree of context parallelism times degree of data parallelism.
    replicas,
    -- Number of replicas of an expert's weight.
    expert_replicas,
    -- Number of weights that a replica trains, experts' weights excluded.
    dense_count,
    -- Number of experts' weights that a replica trains.
    expert_count,
    -- Size of the weights of the device's pipeline stage before ZeRO shards them, experts excluded. [byte]
    dense_byte,
    -- Size of the weights of the device's experts before ZeRO shards them. [byte]
    expert_byte,
    parameter_byte,
    -- Bytes that are read and written to unpack the frozen quantized weights of the device's layers; 0 if weights are not packed.
    -- [byte]
    CASE WHEN frozen_factor < 1e0 THEN (layer_byte + own_expert_byte) * (1e0 + frozen_factor) ELSE 0e0 END AS unpacked_byte,
    -- Size of the weights on the device; if ZeRO shards them, two gathered layers included. [byte]
    weight_byte,
    -- Size of the gradients of weights on the device. [byte]
    gradient_byte,
    -- Size of the optimizer states on the device: copies of weights, and moments. [byte]
    optimizer_byte,
    -- Size of the activations saved by forward passes, of one recomputed layer's activations under recomputation, and of the rest
    -- of the peak. [byte]
    activation_byte,
    -- Size of the buffers, of the rounding to the allocator's blocks, and of the backend's scratch memory. [byte]
    buffer_byte + scratch_factor * activation_byte AS scratch_byte,
    -- Sum of the device's memory. [byte]
    weight_byte + gradient_byte + optimizer_byte + activation_byte + buffer_byte + scratch_factor * activation_byte
        AS peak_memory_byte
FROM held_bytes
