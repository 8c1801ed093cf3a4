-- What of a run's weights a device of a split has: its stage's layers and experts, and what stands before or behind the layers.
-- Grain: model, backend, precision, batch, sequence, scenario_id, split
CREATE VIEW split_weight AS
WITH shares AS (
    SELECT
        r.*,
        d.split,
        d.tensor,
        d.expert,
        d.pipeline,
        CAST(COALESCE(d.block_count, r.block_count) AS DOUBLE) AS layers,
        COALESCE(d.block_count / NULLIF(CAST(r.block_count AS DOUBLE), 0e0), 1e0) AS layer_factor,
        COALESCE(
            CEIL(COALESCE(d.block_count, r.block_count) / NULLIF(CAST(d.pipeline AS DOUBLE), 0e0))
            / NULLIF(CAST(COALESCE(d.block_count, r.block_count) AS DOUBLE), 0e0), 1e0
        ) AS stage_share,
        CAST(CASE WHEN d.is_sequence_parallel THEN d.tensor ELSE 1 END AS BIGINT) AS whole_parts
    FROM layered_run AS r
    CROSS JOIN device_split AS d
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
    -- Weights of its stage's layers, but for experts'. [byte]
    layer_factor * stage_share * (
        (block_split_weight_byte - expert_weight_byte) / NULLIF(tensor, 0) + block_weight_byte - block_split_weight_byte
    ) AS layer_byte,
    -- Weights of its experts. [byte]
    layer_factor * stage_share * expert_weight_byte / NULLIF(tensor * expert, 0) AS own_expert_byte,
    -- Weights before and behind the layers; in a pipeline those of the stage that has more. [byte]
    CASE
        WHEN pipeline = 1
            THEN (end_split_weight_byte - tied_weight_byte) / NULLIF(tensor, 0)
                + first_weight_byte + last_weight_byte - end_split_weight_byte
        ELSE GREATEST(first_weight_byte, last_weight_byte) * (
            1e0 - (1e0 - 1e0 / NULLIF(tensor, 0))
            * COALESCE(end_split_weight_byte / NULLIF(first_weight_byte + last_weight_byte, 0e0), 0e0)
        )
    END AS end_byte
FROM shares
