-- Targets whose report marks a part as simulated although it has silicon, or the reverse.
-- Grain: view_name, model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW simulated_as_silicon AS
WITH flagged_rows AS (
    SELECT 'model_report' AS view_name, model, hardware, backend, precision, batch, sequence, scenario_id, is_simulated
    FROM model_report
    UNION ALL
    SELECT 'target_cost' AS view_name, model, hardware, backend, precision, batch, sequence, scenario_id, is_simulated
    FROM target_cost
)

SELECT
    -- View with the wrong flag.
    f.view_name,
    f.model,
    f.hardware,
    f.backend,
    f.precision,
    f.batch,
    f.sequence,
    f.scenario_id
FROM flagged_rows AS f
INNER JOIN hardware AS h ON h.hardware = f.hardware
WHERE f.is_simulated <> lacks_silicon(h.status)
