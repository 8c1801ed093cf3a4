-- Targets whose part has no silicon and whose report does not say so, or the other way round.
-- Grain: view_name, model_id, scenario_id, hardware_id
CREATE VIEW simulated_as_silicon (
    -- View that is wrong.
    view_name,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id
) AS
WITH flagged_rows AS (
    SELECT 'model_latency' AS view_name, model_id, scenario_id, hardware AS hardware_id, is_simulated FROM model_latency
    UNION ALL
    SELECT 'model_report' AS view_name, model_id, scenario_id, hardware AS hardware_id, is_simulated FROM model_report
    UNION ALL
    SELECT 'target_cost' AS view_name, model_id, scenario_id, hardware_id, is_simulated FROM target_cost
)

SELECT
    f.view_name,
    f.model_id,
    f.scenario_id,
    f.hardware_id
FROM flagged_rows AS f
INNER JOIN hardware AS h ON h.hardware_id = f.hardware_id
WHERE f.is_simulated <> (h.status = 'simulated')
