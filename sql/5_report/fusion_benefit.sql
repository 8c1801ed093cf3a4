-- A run under its backend beside the same run unfused, operator by operator under `eager`: what fusion and
-- the backend's dispatch save together. Both must be among the scenarios.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW fusion_benefit (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend that fuses.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernels launched without fusion.
    unfused_kernel_count,
    -- Kernels launched.
    kernel_count,
    -- Bytes across kernel borders without fusion. [byte]
    unfused_traffic_byte,
    -- Bytes across kernel borders. [byte]
    traffic_byte,
    -- Time without fusion. [s]
    unfused_latency_s,
    -- Time. [s]
    latency_s,
    -- Time without fusion over time.
    speedup,
    -- Energy without fusion; null when a coefficient is missing. [J]
    unfused_energy_j,
    -- Energy; null when a coefficient is missing. [J]
    energy_j,
    -- Energy-delay product without fusion over that with it.
    edp_ratio
) AS
WITH conditioned_costs AS (
    SELECT
        c.*,
        r.backend,
        CONCAT(
            r.policy, '|', r.memory_format, '|', r.phase, '|', CAST(r.batch AS VARCHAR), '|', CAST(r.sequence AS VARCHAR),
            '|', CAST(r.context AS VARCHAR), '|', CAST(r.host_factor AS VARCHAR), '|', CAST(r.is_cache_warm AS VARCHAR)
        ) AS conditions
    FROM model_cost AS c
    INNER JOIN run AS r ON r.model_id = c.model_id AND r.scenario_id = c.scenario_id
)

SELECT
    l.model,
    f.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    f.model_id,
    f.scenario_id,
    f.hardware_id,
    u.kernel_count AS unfused_kernel_count,
    f.kernel_count,
    u.traffic_byte AS unfused_traffic_byte,
    f.traffic_byte,
    u.latency_s AS unfused_latency_s,
    f.latency_s,
    u.latency_s / NULLIF(f.latency_s, 0e0) AS speedup,
    u.energy_j AS unfused_energy_j,
    f.energy_j,
    u.energy_j * u.latency_s / NULLIF(f.energy_j * f.latency_s, 0e0) AS edp_ratio
FROM conditioned_costs AS f
INNER JOIN conditioned_costs AS u
    ON u.model_id = f.model_id AND u.hardware_id = f.hardware_id AND u.conditions = f.conditions
    AND u.backend = 'eager'
INNER JOIN run_label AS l ON l.model_id = f.model_id AND l.scenario_id = f.scenario_id
WHERE f.backend <> 'eager'
