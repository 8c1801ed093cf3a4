-- Savings of fusion: a run under a backend compared with the same run under the unfused counterpart, which runs one kernel per
-- operator (`backend.unfused_backend`). Both runs must be among the scenarios. The counterpart `eager` differs in dispatch too;
-- other counterparts differ only in their kernels.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW fusion_benefit AS
WITH beside_unfused AS (
    SELECT
        c.*,
        s.fused_backend,
        s.unfused_backend,
        s.is_unfused,
        MAX(CASE WHEN s.is_unfused THEN c.kernel_count END) OVER same_conditions AS unfused_kernel_count,
        MAX(CASE WHEN s.is_unfused THEN c.traffic_byte END) OVER same_conditions AS unfused_traffic_byte,
        MAX(CASE WHEN s.is_unfused THEN c.dram_byte END) OVER same_conditions AS unfused_dram_byte,
        MAX(CASE WHEN s.is_unfused THEN c.latency_s END) OVER same_conditions AS unfused_latency_s,
        MAX(CASE WHEN s.is_unfused THEN c.energy_j END) OVER same_conditions AS unfused_energy_j
    FROM model_cost AS c
    INNER JOIN fusion_side AS s ON s.backend = c.backend
    WINDOW same_conditions AS (
        PARTITION BY
            s.fused_backend, c.model, c.hardware, c.precision, c.batch, c.sequence, c.context, c.phase, c.memory_format,
            c.kv_precision, c.device_count, c.weight_host_fraction, c.cache_host_fraction, c.input_host_fraction, c.host_factor, c.cache_state, c.power
    )
)

SELECT
    f.model,
    f.hardware,
    f.fused_backend AS backend,
    f.precision,
    f.batch,
    f.sequence,
    f.scenario_id,
    f.unfused_backend,
    -- Number of kernels launched without fusion.
    f.unfused_kernel_count,
    f.kernel_count,
    -- Bytes across kernel borders without fusion. [byte]
    f.unfused_traffic_byte,
    f.traffic_byte,
    -- Traffic of main memory without fusion. [byte]
    f.unfused_dram_byte,
    f.dram_byte,
    -- Time without fusion. [s]
    f.unfused_latency_s,
    f.latency_s,
    -- Ratio of the time without fusion to the time with it.
    f.unfused_latency_s / NULLIF(f.latency_s, 0e0) AS speedup,
    -- Energy without fusion; null when a coefficient is missing. [J]
    f.unfused_energy_j,
    f.energy_j,
    -- Ratio of the energy-delay product without fusion to that with it.
    f.unfused_energy_j * f.unfused_latency_s / NULLIF(f.energy_j * f.latency_s, 0e0) AS edp_ratio
FROM beside_unfused AS f
WHERE NOT f.is_unfused AND f.unfused_latency_s IS NOT NULL
