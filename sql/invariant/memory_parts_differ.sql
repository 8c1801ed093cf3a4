-- Peak memory is the sum of its parts, and the timeline starts with nothing but inputs and never goes
-- below zero.
-- Grain: model_id, scenario_id
CREATE VIEW memory_parts_differ (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- Sum of its parts. [byte]
    parts_byte,
    -- Least activation memory held at any kernel. [byte]
    least_live_byte
) AS
WITH least_steps AS (
    SELECT model_id, scenario_id, MIN(live_byte) AS least_live_byte
    FROM memory_step
    GROUP BY model_id, scenario_id
)

SELECT
    m.model_id,
    m.scenario_id,
    m.peak_memory_byte,
    m.weight_byte + m.buffer_byte + m.kv_cache_byte + m.activation_byte + m.rounding_byte + m.workspace_byte
        AS parts_byte,
    s.least_live_byte
FROM run_memory AS m
LEFT JOIN least_steps AS s ON s.model_id = m.model_id AND s.scenario_id = m.scenario_id
WHERE
    ABS(
        m.peak_memory_byte - m.weight_byte - m.buffer_byte - m.kv_cache_byte - m.activation_byte
        - m.rounding_byte - m.workspace_byte
    ) > 1e0
    OR s.least_live_byte < 0e0
