-- Cuts of a chain of layers whose tensors stay on the chip (domain flow, or depth first on other parts). A tensor (link) larger
-- than its share of on-chip memory is spilled: written once and read once. If spilling costs more than reading weights again, the
-- samples instead run in groups so small that links fit on the chip.
-- Grain: run, shape_id, hardware
CREATE VIEW chain_cut AS
WITH roomy_links AS (
    SELECT
        c.*,
        t.hardware,
        t.keeps_weights,
        t.takes_groups,
        cache_room(t.is_cache_placed, e.residency_fraction, t.cache_byte) AS room_byte
    FROM shape_link AS c
    INNER JOIN part_support AS t ON t.backend = c.run.backend AND t.precision = c.run.precision
    INNER JOIN chain_efficiency AS e
        ON e.efficiency_chain = t.efficiency_chain AND e.kernel_class = c.kernel_class
        AND e.operator_name = '*' AND e.precision_class = '*' AND e.layout = c.memory_format
),

shared_rooms AS (
    SELECT
        *,
        kept_share(room_byte, run_activation_byte, run_weight_byte) AS batch_share,
        CASE WHEN takes_groups THEN kept_share(room_byte, run_activation_byte / NULLIF(run.batch, 0), run_weight_byte) END AS sample_share
    FROM roomy_links
),

held_weights AS (
    SELECT
        *,
        kept_weights(cache_state, keeps_weights, run_weight_byte, batch_share, sample_share, run.batch) AS held_weight_fraction
    FROM shared_rooms
),

-- Weights that stay on the chip reduce the room for links.
kept_links AS (
    SELECT
        *,
        CASE WHEN held_weight_fraction > batch_share THEN room_byte - held_weight_fraction * run_weight_byte ELSE room_byte END
            AS link_byte
    FROM held_weights
),

sized_links AS (
    SELECT
        *,
        held_byte <= link_byte AS is_held,
        -- Largest number of samples whose links fit on the chip at the same time.
        LEAST(FLOOR(link_byte * run.batch / NULLIF(held_byte, 0e0)), run.batch) AS sample_count
    FROM kept_links
),

passing_links AS (
    SELECT
        *,
        COALESCE(sample_count >= 1e0, FALSE) AS fits_in_groups
    FROM sized_links
),

summed_links AS (
    SELECT
        run,
        shape_id,
        hardware,
        COUNT(*) AS link_count,
        SUM(CASE WHEN is_held THEN 0 ELSE 1 END) AS open_count,
        SUM(CASE WHEN fits_in_groups THEN 0 ELSE 1 END) AS lost_count,
        MAX(CASE WHEN fits_in_groups THEN CEIL(run.batch / NULLIF(sample_count, 0e0)) ELSE 1e0 END) AS pass_count,
        MAX(CASE WHEN is_held THEN held_byte ELSE 0e0 END) AS held_byte,
        MAX(CASE WHEN fits_in_groups THEN held_byte * sample_count / NULLIF(run.batch, 0) ELSE 0e0 END) AS held_in_passes_byte,
        SUM(CASE WHEN is_held THEN 0e0 ELSE 2e0 * held_byte END) AS open_byte,
        SUM(CASE WHEN fits_in_groups THEN 0e0 ELSE 2e0 * held_byte END) AS lost_byte,
        MAX(weight_byte) AS weight_byte,
        MAX(held_weight_fraction) AS held_weight_fraction
    FROM passing_links
    GROUP BY run, shape_id, hardware
),

decided_chains AS (
    SELECT
        *,
        lost_byte + (pass_count - 1e0) * weight_byte AS passed_byte,
        lost_byte + (pass_count - 1e0) * weight_byte * (1e0 - held_weight_fraction) < open_byte AS is_passed
    FROM summed_links
)

SELECT
    run,
    shape_id,
    hardware,
    -- Number of links of the chain.
    CAST(link_count AS BIGINT) AS link_count,
    -- Number of links that are spilled.
    CAST(CASE WHEN is_passed THEN lost_count ELSE open_count END AS BIGINT) AS cut_count,
    -- Number of groups of samples that run one after another; each group reads all weights.
    CAST(CASE WHEN is_passed THEN pass_count ELSE 1e0 END AS BIGINT) AS pass_count,
    -- Size of the largest link on the chip; 0 if no link stays there. [byte]
    CASE WHEN is_passed THEN held_in_passes_byte ELSE held_byte END AS held_byte,
    -- Traffic of spilled links, and of weights that are read again. [byte]
    CASE WHEN is_passed THEN passed_byte ELSE open_byte END AS spilled_byte
FROM decided_chains
