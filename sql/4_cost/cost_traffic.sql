-- Bytes of a shape on a part: what crosses its border, what a domain-flow chain spills besides, and what of it the
-- last-level cache serves, where it holds a kernel's inputs from earlier kernels and its results together. What streams
-- through a cache that is too small for it is evicted before it is read again; where software decides what that memory holds,
-- the batch is taken in groups that fit, if reading the weights again for each costs less. `weights_resident`, or a part whose
-- programs do so (`part.keeps_weights`), keeps from run to run what of a model's weights fits beside its activations. Each file that follows adds one mechanism to the one it reads;
-- `cost_untiled` and `cost_memory` sum them.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_traffic AS
SELECT
    p.* EXCLUDE (run_weight_byte, run_activation_byte),
    -- Bytes of the last-level cache that activations and weights may fill. [byte]
    cache_room(p.is_cache_placed, p.residency_fraction, p.cache_byte) AS room_byte,
    -- What an earlier kernel wrote and what this one does, in a chunk of prompts. [byte]
    (p.produced_byte + p.output_byte) / NULLIF(p.chunk_count, 0e0) AS local_byte,
    -- Share of the weights that the last-level cache keeps from run to run.
    CASE
        WHEN p.run_weight_byte > 0e0 AND (p.cache_state = 'weights_resident' OR (p.keeps_weights AND p.cache_state = 'warm'))
            THEN kept_weights(room_byte, p.run_activation_byte, p.run_weight_byte, p.batch, p.takes_groups)
        ELSE 0e0
    END AS held_weight_fraction,
    -- Bytes of it that activations may fill: what the weights leave that stay beside one sample's; those of the whole batch fit
    -- beside the others. [byte]
    CASE
        WHEN held_weight_fraction > kept_share(room_byte, p.run_activation_byte, p.run_weight_byte)
            THEN room_byte - held_weight_fraction * p.run_weight_byte
        ELSE room_byte
    END AS activation_room_byte,
    -- Groups of samples that would fit the last-level cache one after another; 1 where the batch is not taken apart.
    CASE
        WHEN p.takes_groups AND p.cache_state <> 'cold' AND CEIL(local_byte / NULLIF(activation_room_byte, 0e0)) BETWEEN 2e0 AND p.batch
            THEN CEIL(local_byte / NULLIF(activation_room_byte, 0e0))
        ELSE 1e0
    END AS fitting_groups,
    -- Groups that the batch is taken in: as many as fit, if their weights are less than what would leave the chip.
    CASE
        WHEN (fitting_groups - LEAST(fitting_groups, COALESCE(c.pass_count, 1))) * p.weight_byte * (1e0 - held_weight_fraction)
            < local_byte
            THEN fitting_groups
        ELSE 1e0
    END AS group_count,
    -- Weights read again: for every group or pass but the first. [byte]
    (GREATEST(group_count, COALESCE(c.pass_count, 1)) - 1e0) * p.weight_byte AS reread_weight_byte,
    -- Everything that crosses the border, and what a domain-flow chain moves besides (`chain_cut`). [byte]
    p.traffic_byte + p.reread_cache_byte + COALESCE(c.spilled_byte, 0e0)
    + (group_count - LEAST(group_count, COALESCE(c.pass_count, 1))) * p.weight_byte AS moved_byte,
    -- Links of a domain-flow chain that do not fit on chip.
    COALESCE(c.cut_count, 0) AS cut_count,
    -- Part of the traffic the last-level cache serves. [byte]
    CASE
        WHEN p.cache_state = 'hot' AND p.traffic_byte <= p.cache_byte THEN p.traffic_byte
        WHEN p.cache_state <> 'cold' AND local_byte <= activation_room_byte * group_count
            THEN p.produced_byte + p.output_byte
        ELSE 0e0
    END + held_weight_fraction * (p.weight_byte + reread_weight_byte) AS resident_byte
FROM shape_target AS p
LEFT JOIN chain_cut AS c
    ON c.model = p.model AND c.backend = p.backend AND c.precision = p.precision AND c.batch = p.batch
    AND c.sequence = p.sequence AND c.scenario_id = p.scenario_id AND c.shape_id = p.shape_id
    AND c.hardware = p.hardware
