-- Traffic of a shape on a part: bytes across the kernel's border, spills of a domain-flow chain, and the share that the last-level
-- cache serves if the cache can contain both the inputs from earlier kernels and the results. With `weights_resident`, or on a part
-- whose programs keep weights (`part.keeps_weights`), the cache keeps the weights that fit next to the activations. Each later file
-- adds one mechanism; `cost_untiled` and `cost_memory` sum the mechanisms.
-- Grain: run, shape_id, hardware
CREATE VIEW cost_traffic AS
-- Each computation has a separate SELECT, because the engine expands a column wherever the same SELECT names it again.
WITH roomy_shapes AS (
    SELECT
        p.*,
        COALESCE(c.pass_count, 1) AS pass_count,
        COALESCE(c.spilled_byte, 0e0) AS spilled_byte,
        c.cut_count AS chain_cut_count,
        cache_room(p.is_cache_placed, p.residency_fraction, p.cache_byte) AS room_byte,
        (p.produced_byte + p.output_byte) / NULLIF(p.chunk_count, 0e0) AS local_byte
    FROM shape_target AS p
    LEFT JOIN chain_cut AS c ON c.run = p.run AND c.shape_id = p.shape_id AND c.hardware = p.hardware
),

shared_rooms AS (
    SELECT
        *,
        kept_share(room_byte, run_activation_byte, run_weight_byte) AS batch_share,
        CASE WHEN takes_groups THEN kept_share(room_byte, run_activation_byte / NULLIF(run.batch, 0), run_weight_byte) END AS sample_share
    FROM roomy_shapes
),

held_weights AS (
    SELECT
        *,
        kept_weights(cache_state, keeps_weights, run_weight_byte, batch_share, sample_share, run.batch) AS held_weight_fraction
    FROM shared_rooms
),

roomed_activations AS (
    SELECT
        *,
        CASE WHEN held_weight_fraction > batch_share THEN room_byte - held_weight_fraction * run_weight_byte ELSE room_byte END
            AS activation_room_byte
    FROM held_weights
),

counted_groups AS (
    SELECT *, CEIL(local_byte / NULLIF(activation_room_byte, 0e0)) AS needed_groups FROM roomed_activations
),

fitting_samples AS (
    SELECT
        *,
        CASE WHEN takes_groups AND cache_state <> 'cold' AND needed_groups BETWEEN 2e0 AND run.batch THEN needed_groups ELSE 1e0 END
            AS fitting_groups
    FROM counted_groups
),

-- If software places data and reading weights again costs less, the batch runs in groups that fit the cache.
grouped_samples AS (
    SELECT
        *,
        CASE
            WHEN (fitting_groups - LEAST(fitting_groups, pass_count)) * weight_byte * (1e0 - held_weight_fraction) < local_byte
                THEN fitting_groups
            ELSE 1e0
        END AS group_count
    FROM fitting_samples
)

SELECT
    * EXCLUDE (
        run_weight_byte, run_activation_byte, pass_count, spilled_byte, chain_cut_count, batch_share, sample_share, needed_groups,
        room_byte, local_byte, held_weight_fraction, activation_room_byte, fitting_groups, group_count
    ),
    -- Capacity of the last-level cache that activations and weights may use. [byte]
    room_byte,
    -- Bytes that the previous kernels and this kernel write, in a chunk of prompts. [byte]
    local_byte,
    -- Share of the weights that the last-level cache keeps between runs.
    held_weight_fraction,
    -- Capacity of the last-level cache for activations: reduced by the kept weights if weights fit only next to one sample's
    -- activations, else the whole capacity. [byte]
    activation_room_byte,
    -- Number of groups into which the batch must be divided so that each group fits the last-level cache; 1 if the batch is not
    -- divided.
    fitting_groups,
    -- Number of groups of the batch: `fitting_groups` if reading the weights again costs fewer bytes than spilling activations,
    -- else 1.
    group_count,
    -- Bytes of weights read again, by every group or pass except the first. [byte]
    (GREATEST(group_count, pass_count) - 1e0) * weight_byte AS reread_weight_byte,
    -- Bytes across the kernel's border, plus spills at the cuts of a domain-flow chain (`chain_cut`), and weights, keys and values
    -- read again. [byte]
    traffic_byte + reread_cache_byte + spilled_byte + (group_count - LEAST(group_count, pass_count)) * weight_byte AS moved_byte,
    -- Number of tensors between kernels of a domain-flow chain that do not fit on the chip.
    COALESCE(chain_cut_count, 0) AS cut_count,
    -- Part of the traffic that the last-level cache serves. [byte]
    CASE
        WHEN cache_state = 'hot' AND traffic_byte <= cache_byte THEN traffic_byte
        WHEN cache_state <> 'cold' AND local_byte <= activation_room_byte * group_count THEN produced_byte + output_byte
        ELSE 0e0
    END + held_weight_fraction * (weight_byte + reread_weight_byte) AS resident_byte
FROM grouped_samples
