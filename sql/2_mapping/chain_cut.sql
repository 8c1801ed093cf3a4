-- Where a domain-flow chain is cut on a part: a link larger than the share of on-chip memory it may fill leaves
-- the chip, written once and read once, unless reading the weights again costs less: then the samples pass in parts small
-- enough that their links stay.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW chain_cut (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Links of the chain.
    link_count,
    -- Links that do not fit.
    cut_count,
    -- Parts of the batch that pass one after another, each with all weights.
    pass_count,
    -- Largest link held on chip; 0 when none is. [byte]
    held_byte,
    -- Traffic of the links that do not fit, and of weights read again. [byte]
    spilled_byte
) AS
WITH sized_links AS (
    SELECT
        c.model_id,
        c.scenario_id,
        t.hardware_id,
        c.subgraph_id,
        c.held_byte,
        c.held_byte <= e.residency_fraction * h.cache_byte AS is_held,
        -- The most samples whose link fits at a time.
        LEAST(FLOOR(e.residency_fraction * h.cache_byte / NULLIF(c.held_byte / NULLIF(t.batch, 0e0), 0e0)), t.batch) AS sample_count,
        t.batch
    FROM chain_tensor AS c
    INNER JOIN target AS t ON t.model_id = c.model_id AND t.scenario_id = c.scenario_id
    INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
    INNER JOIN subgraph AS s
        ON s.model_id = c.model_id AND s.backend = t.backend AND s.subgraph_id = c.subgraph_id
    INNER JOIN efficiency_choice AS e
        ON e.hardware_id = t.hardware_id AND e.backend = t.backend AND e.kernel_class = s.kernel_class
        AND e.operator_name = '*' AND e.precision_class = '*' AND e.memory_format = t.memory_format
),

passing_links AS (
    SELECT
        *,
        COALESCE(sample_count >= 1e0, FALSE) AS fits_in_parts
    FROM sized_links
),

summed_links AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        subgraph_id,
        COUNT(*) AS link_count,
        SUM(CASE WHEN is_held THEN 0 ELSE 1 END) AS open_count,
        SUM(CASE WHEN fits_in_parts THEN 0 ELSE 1 END) AS lost_count,
        MAX(CASE WHEN fits_in_parts THEN CEIL(batch / NULLIF(sample_count, 0e0)) ELSE 1e0 END) AS pass_count,
        MAX(CASE WHEN is_held THEN held_byte ELSE 0e0 END) AS held_byte,
        MAX(CASE WHEN fits_in_parts THEN held_byte * sample_count / NULLIF(batch, 0e0) ELSE 0e0 END) AS held_in_passes_byte,
        SUM(CASE WHEN is_held THEN 0e0 ELSE 2e0 * held_byte END) AS open_byte,
        SUM(CASE WHEN fits_in_parts THEN 0e0 ELSE 2e0 * held_byte END) AS lost_byte
    FROM passing_links
    GROUP BY model_id, scenario_id, hardware_id, subgraph_id
),

weighed_chains AS (
    SELECT
        l.*,
        l.lost_byte + (l.pass_count - 1e0) * w.weight_byte AS passed_byte
    FROM summed_links AS l
    INNER JOIN kernel_work AS w
        ON w.model_id = l.model_id AND w.scenario_id = l.scenario_id AND w.subgraph_id = l.subgraph_id
),

decided_chains AS (
    SELECT
        *,
        passed_byte < open_byte AS is_passed
    FROM weighed_chains
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    CAST(link_count AS BIGINT) AS link_count,
    CAST(CASE WHEN is_passed THEN lost_count ELSE open_count END AS BIGINT) AS cut_count,
    CAST(CASE WHEN is_passed THEN pass_count ELSE 1 END AS BIGINT) AS pass_count,
    CASE WHEN is_passed THEN held_in_passes_byte ELSE held_byte END AS held_byte,
    CASE WHEN is_passed THEN passed_byte ELSE open_byte END AS spilled_byte
FROM decided_chains
