-- Weights of a run on one device of a split (the layers and experts of the device's stage, and the operators before or after the
-- layers), and the device's shares of the work that tensor parallelism splits. Heads and experts stay whole.
-- Grain: run, split
CREATE VIEW split_weight AS
WITH weights AS (
    SELECT
        run,
        expert_count,
        block_count,
        FALSE AS is_trained,
        first_weight_byte AS first_byte,
        last_weight_byte AS last_byte,
        block_weight_byte AS block_byte,
        tied_weight_byte AS tied_byte,
        end_split_weight_byte AS end_split_byte,
        block_split_weight_byte AS block_split_byte,
        expert_weight_byte AS expert_byte
    FROM layered_run
    UNION ALL
    SELECT
        run,
        expert_count,
        block_count,
        TRUE AS is_trained,
        first_trained_byte AS first_byte,
        last_trained_byte AS last_byte,
        block_trained_byte AS block_byte,
        tied_trained_byte AS tied_byte,
        end_split_trained_byte AS end_split_byte,
        block_split_trained_byte AS block_split_byte,
        expert_trained_byte AS expert_byte
    FROM layered_run
),

shares AS (
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
        CAST(CASE WHEN d.is_sequence_parallel THEN d.tensor ELSE 1 END AS BIGINT) AS whole_parts,
        COALESCE(p.block_share, 1e0 / NULLIF(d.tensor, 0)) AS block_share,
        COALESCE(p.end_share, 1e0 / NULLIF(d.tensor, 0)) AS end_share,
        COALESCE(p.work_share, 1e0 / NULLIF(d.tensor, 0)) AS work_share,
        COALESCE(p.core_share, 1e0 / NULLIF(d.tensor, 0)) AS core_share,
        COALESCE(p.cache_share, 1e0 / NULLIF(d.tensor, 0)) AS cache_share
    FROM weights AS r
    CROSS JOIN device_split AS d
    LEFT JOIN split_piece AS p ON p.run = r.run AND p.split = d.split
),

device_weights AS (
    SELECT
        *,
        layer_factor * stage_share * ((block_split_byte - expert_byte) * block_share + block_byte - block_split_byte)
            AS layer_byte,
        layer_factor * stage_share * expert_byte * device_share(expert_count, expert) / NULLIF(tensor, 0) AS own_expert_byte,
        CASE
            WHEN pipeline = 1 THEN (end_split_byte - tied_byte) * end_share + first_byte + last_byte - end_split_byte
            ELSE GREATEST(first_byte, last_byte) * (
                1e0 - (1e0 - end_share) * COALESCE(end_split_byte / NULLIF(first_byte + last_byte, 0e0), 0e0)
            )
        END AS end_byte
    FROM shares
)

SELECT
    run,
    split,
    -- Number of layers of the model.
    MAX(layers) AS layers,
    -- Ratio of the model's layers to the layers of the run.
    MAX(layer_factor) AS layer_factor,
    -- Largest share of the layers in one pipeline stage.
    MAX(stage_share) AS stage_share,
    -- Number of parts into which results that tensor parallelism leaves whole are divided along the tokens (sequence parallelism).
    MAX(whole_parts) AS whole_parts,
    -- Share of the layers' split work on one device.
    MAX(work_share) AS work_share,
    -- Share of the attention cores on one device: whole query heads.
    MAX(core_share) AS core_share,
    -- Share of the layers' keys and values on one device: whole key-value heads.
    MAX(cache_share) AS cache_share,
    -- Size of the weights of the stage's layers, experts excluded. [byte]
    SUM(CASE WHEN is_trained THEN 0e0 ELSE layer_byte END) AS layer_byte,
    -- Size of the weights of the device's experts. [byte]
    SUM(CASE WHEN is_trained THEN 0e0 ELSE own_expert_byte END) AS own_expert_byte,
    -- Size of the weights before and after the layers; in a pipeline, of the stage that has more of them. [byte]
    SUM(CASE WHEN is_trained THEN 0e0 ELSE end_byte END) AS end_byte,
    -- Part of `layer_byte` that a training step updates. [byte]
    SUM(CASE WHEN is_trained THEN layer_byte ELSE 0e0 END) AS trained_layer_byte,
    -- Part of `own_expert_byte` that a training step updates. [byte]
    SUM(CASE WHEN is_trained THEN own_expert_byte ELSE 0e0 END) AS trained_expert_byte,
    -- Part of `end_byte` that a training step updates. [byte]
    SUM(CASE WHEN is_trained THEN end_byte ELSE 0e0 END) AS trained_end_byte
FROM device_weights
GROUP BY run, split
