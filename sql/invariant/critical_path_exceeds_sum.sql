-- Runs whose critical path takes longer than all kernels in sequence, or whose critical path is shorter than its lower bound.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW critical_path_exceeds_sum AS
SELECT
    p.model,
    p.hardware,
    p.backend,
    p.precision,
    p.batch,
    p.sequence,
    p.scenario_id,
    p.critical_path_s,
    p.critical_path_lower_s,
    -- Device time of all kernels. [s]
    c.device_s
FROM critical_path AS p
INNER JOIN model_cost AS c
    ON c.model = p.model AND c.hardware = p.hardware AND c.backend = p.backend AND c.precision = p.precision
    AND c.batch = p.batch AND c.sequence = p.sequence AND c.scenario_id = p.scenario_id
WHERE p.critical_path_s > c.device_s * (1e0 + 1e-9) OR p.critical_path_lower_s > p.critical_path_s * (1e0 + 1e-9)
