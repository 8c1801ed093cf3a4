-- Where a domain-flow chain is cut on a part: a link larger than the share of on-chip memory it may fill leaves
-- the chip, written once and read once.
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
    -- Largest link held on chip; 0 when none is. [byte]
    held_byte,
    -- Traffic of the links that do not fit. [byte]
    spilled_byte
) AS
WITH sized_links AS (
    SELECT
        c.model_id,
        c.scenario_id,
        t.hardware_id,
        c.subgraph_id,
        c.held_byte,
        c.held_byte <= e.residency_fraction * h.cache_byte AS is_held
    FROM chain_tensor AS c
    INNER JOIN target AS t ON t.model_id = c.model_id AND t.scenario_id = c.scenario_id
    INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
    INNER JOIN subgraph AS s
        ON s.model_id = c.model_id AND s.backend = t.backend AND s.subgraph_id = c.subgraph_id
    INNER JOIN efficiency_choice AS e
        ON e.hardware_id = t.hardware_id AND e.backend = t.backend AND e.kernel_class = s.kernel_class
        AND e.operator_name = '*' AND e.precision_class = '*' AND e.memory_format = t.memory_format
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    CAST(COUNT(*) AS BIGINT) AS link_count,
    CAST(SUM(CASE WHEN is_held THEN 0 ELSE 1 END) AS BIGINT) AS cut_count,
    MAX(CASE WHEN is_held THEN held_byte ELSE 0e0 END) AS held_byte,
    SUM(CASE WHEN is_held THEN 0e0 ELSE 2e0 * held_byte END) AS spilled_byte
FROM sized_links
GROUP BY model_id, scenario_id, hardware_id, subgraph_id
