-- What a device of a split holds in training: weights of its stage, their gradients and the optimizer's states, spread as the stage
-- of ZeRO says (Rajbhandari et al. 2019), and what is kept of the forward pass of as many micro batches as a pipeline has under
-- way: L (1 + (p - 1) / (p v)) layers in its first stage (Korthikanti et al. 2022).
-- Grain: model, backend, precision, batch, sequence, scenario_id, split
CREATE VIEW split_memory AS
WITH shares AS (
    SELECT
        t.*,
        d.split,
        d.tensor,
        d.context,
        d.data,
        d.expert,
        d.pipeline,
        d.interleave,
        d.micro_batches,
        d.zero_stage,
        d.recompute,
        d.adapter_rank,
        CAST(d.context * d.data AS BIGINT) AS replicas,
        CAST(COALESCE(d.block_count, t.block_count) AS DOUBLE) AS layers,
        COALESCE(d.block_count / NULLIF(CAST(t.block_count AS DOUBLE), 0e0), 1e0) AS layer_factor,
        COALESCE(
            CEIL(COALESCE(d.block_count, t.block_count) / NULLIF(CAST(d.pipeline AS DOUBLE), 0e0))
            / NULLIF(CAST(COALESCE(d.block_count, t.block_count) AS DOUBLE), 0e0), 1e0
        ) AS stage_share,
        CAST(CASE WHEN d.is_sequence_parallel THEN d.tensor ELSE 1 END AS BIGINT) AS whole_parts,
        CASE
            WHEN d.pipeline = 1
                THEN (t.end_split_weight_byte - t.tied_weight_byte) / NULLIF(d.tensor, 0)
                    + t.first_weight_byte + t.last_weight_byte - t.end_split_weight_byte
            ELSE GREATEST(t.first_weight_byte, t.last_weight_byte) * (
                1e0 - (1e0 - 1e0 / NULLIF(d.tensor, 0))
                * COALESCE(t.end_split_weight_byte / NULLIF(t.first_weight_byte + t.last_weight_byte, 0e0), 0e0)
            )
        END AS end_byte,
        CASE WHEN d.adapter_rank IS NULL OR p.bits IS NULL THEN 1e0 ELSE p.bits / NULLIF(8e0 * t.parameter_byte, 0e0) END
            AS frozen_factor,
        o.gradient_byte AS one_gradient_byte,
        CASE WHEN t.parameter_byte < o.master_byte THEN o.master_byte ELSE 0e0 END + o.state_byte AS kept_byte
    FROM trained_run AS t
    CROSS JOIN device_split AS d
    INNER JOIN optimizer AS o ON o.optimizer = d.optimizer
    LEFT JOIN precision AS p ON p.precision = d.frozen_precision
),

weights AS (
    SELECT
        *,
        layer_factor * stage_share * (
            (block_split_weight_byte - expert_weight_byte) / NULLIF(tensor, 0) + block_weight_byte - block_split_weight_byte
        ) AS layer_byte,
        layer_factor * stage_share * expert_weight_byte / NULLIF(tensor * expert, 0) AS own_expert_byte,
        COALESCE(adapter_rank * adapter_width * layer_factor * stage_share / NULLIF(tensor, 0), 0e0) AS adapter_count,
        layer_factor * (split_saved_byte / NULLIF(tensor, 0) + whole_saved_byte / NULLIF(whole_parts, 0)) / NULLIF(context, 0)
            AS all_saved_byte,
        layer_factor * core_saved_byte / NULLIF(tensor * context, 0) AS core_byte,
        layers * hidden_byte / NULLIF(whole_parts * context, 0) AS input_byte,
        stage_share * LEAST(micro_batches, pipeline) * CASE
            WHEN interleave > 1 AND pipeline > 1 THEN 1e0 + (pipeline - 1e0) / NULLIF(pipeline * interleave, 0)
            ELSE 1e0
        END AS kept_layers
    FROM shares
),

trained_weights AS (
    SELECT
        *,
        CASE WHEN adapter_rank IS NULL THEN (layer_byte + end_byte) / NULLIF(parameter_byte, 0e0) ELSE adapter_count END
            AS dense_count,
        CASE WHEN adapter_rank IS NULL THEN own_expert_byte / NULLIF(parameter_byte, 0e0) ELSE 0e0 END AS expert_count,
        (layer_byte * frozen_factor + end_byte + adapter_count * parameter_byte) AS dense_byte,
        own_expert_byte * frozen_factor AS expert_byte,
        replicas / NULLIF(CAST(expert AS DOUBLE), 0e0) AS expert_replicas
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
            AS activation_byte
    FROM trained_weights
)

SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    split,
    -- Layers of the model.
    layers,
    -- Layers over those that the run has.
    layer_factor,
    -- Share of the layers that the stage with most of them has.
    stage_share,
    -- Parts into which what tensor parallel leaves whole is split along the tokens.
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
    -- What it keeps of forward passes, and where layers are repeated the results of one. [byte]
    activation_byte,
    -- All of that. [byte]
    weight_byte + gradient_byte + optimizer_byte + activation_byte AS peak_memory_byte
FROM held_bytes
