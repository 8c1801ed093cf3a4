-- What a device of a split holds in training: weights of its stage, their gradients and the optimizer's states, spread as the stage
-- of ZeRO says (Rajbhandari et al. 2019), and what is kept of the forward pass of as many micro batches as a pipeline has under
-- way: L (1 + (p - 1) / (p v)) layers in its first stage (Korthikanti et al. 2022). To that comes once what the peak of a run's
-- activations (`run_memory`) holds besides: gradients of activations, and what has not been freed yet.
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
    -- Replicas of a weight: devices of context and data parallel.
    replicas,
    -- Replicas of an expert's weight.
    expert_replicas,
    -- Weights that a replica trains, but for experts'.
    dense_count,
    -- Weights of experts that it trains.
    expert_count,
    -- Weights of its stage, but for experts', whole. [byte]
    dense_byte,
    -- Weights of its experts, whole. [byte]
    expert_byte,
    parameter_byte,
    -- What unpacking frozen weights of its layers reads and writes; 0 where they are not packed. [byte]
    CASE WHEN frozen_factor < 1e0 THEN (layer_byte + own_expert_byte) * (1e0 + frozen_factor) ELSE 0e0 END AS unpacked_byte,
    -- Weights that it holds; where they are spread, with those of two layers under way. [byte]
    weight_byte,
    -- Gradients that it holds. [byte]
    gradient_byte,
    -- Copies of weights and moments that it holds for the optimizer. [byte]
    optimizer_byte,
    -- What it keeps of forward passes, where layers are repeated the results of one, and what else the peak holds. [byte]
    activation_byte,
    -- Buffers, and what blocks of the allocator and the backend's scratch memory add. [byte]
    buffer_byte + scratch_factor * activation_byte AS scratch_byte,
    -- All of that. [byte]
    weight_byte + gradient_byte + optimizer_byte + activation_byte + buffer_byte + scratch_factor * activation_byte
        AS peak_memory_byte
FROM held_bytes
