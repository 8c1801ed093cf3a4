-- A run under its backend beside the same run unfused, operator by operator under `eager`: what fusion and
-- the backend's dispatch save together. Both must be among the scenarios.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW fusion_benefit AS
WITH beside_unfused AS (
    SELECT
        *,
        MAX(CASE WHEN backend = 'eager' THEN kernel_count END) OVER same_conditions AS unfused_kernel_count,
        MAX(CASE WHEN backend = 'eager' THEN traffic_byte END) OVER same_conditions AS unfused_traffic_byte,
        MAX(CASE WHEN backend = 'eager' THEN latency_s END) OVER same_conditions AS unfused_latency_s,
        MAX(CASE WHEN backend = 'eager' THEN energy_j END) OVER same_conditions AS unfused_energy_j
    FROM model_cost
    WINDOW same_conditions AS (
        PARTITION BY
            model, hardware, precision, batch, sequence, context, phase, memory_format, host_factor, cache_state, power
    )
)

SELECT
    f.model,
    f.hardware,
    f.backend,
    f.precision,
    f.batch,
    f.sequence,
    f.scenario_id,
    -- Kernels launched without fusion.
    f.unfused_kernel_count,
    f.kernel_count,
    -- Bytes across kernel borders without fusion. [byte]
    f.unfused_traffic_byte,
    f.traffic_byte,
    -- Time without fusion. [s]
    f.unfused_latency_s,
    f.latency_s,
    -- Time without fusion over time.
    f.unfused_latency_s / NULLIF(f.latency_s, 0e0) AS speedup,
    -- Energy without fusion; null when a coefficient is missing. [J]
    f.unfused_energy_j,
    f.energy_j,
    -- Energy-delay product without fusion over that with it.
    f.unfused_energy_j * f.unfused_latency_s / NULLIF(f.energy_j * f.latency_s, 0e0) AS edp_ratio
FROM beside_unfused AS f
WHERE f.backend <> 'eager' AND f.unfused_latency_s IS NOT NULL
