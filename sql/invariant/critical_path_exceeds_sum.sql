-- A chain of kernels cannot take longer than all of them, nor a lower bound exceed the upper.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW critical_path_exceeds_sum (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Critical path. [s]
    critical_path_s,
    -- Its lower bound. [s]
    critical_path_lower_s,
    -- Device time of all kernels. [s]
    device_s
) AS
SELECT
    p.model_id,
    p.scenario_id,
    p.hardware_id,
    p.critical_path_s,
    p.critical_path_lower_s,
    c.device_s
FROM critical_path AS p
INNER JOIN model_cost AS c
    ON c.model_id = p.model_id AND c.scenario_id = p.scenario_id AND c.hardware_id = p.hardware_id
WHERE p.critical_path_s > c.device_s * (1e0 + 1e-9) OR p.critical_path_lower_s > p.critical_path_s * (1e0 + 1e-9)
