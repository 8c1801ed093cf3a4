-- Savings of fusion by kernel in time, energy and bytes: every kernel of a run compared with the kernels that run the same
-- operators without fusion (`backend.unfused_backend`). Inserted conversions, copies and biases belong to the kernel that they
-- serve. Both runs must be among the scenarios. Costs paid once per run are excluded.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_fusion AS
WITH sided_kernels AS (
    SELECT
        t.*,
        s.fused_backend,
        s.unfused_backend,
        s.is_unfused,
        k.kernel_id AS fused_id
    FROM kernel_time AS t
    INNER JOIN fusion_side AS s ON s.backend = t.backend
    INNER JOIN kernel_operator AS k
        ON k.model = t.model AND k.backend = s.fused_backend AND k.operator_id = t.anchor_operator_id
),

both_sides AS (
    SELECT
        model,
        hardware,
        fused_backend,
        unfused_backend,
        precision,
        batch,
        sequence,
        context,
        phase,
        memory_format,
        fused_id,
        MAX(CASE WHEN NOT is_unfused THEN scenario_id END) AS scenario_id,
        SUM(CASE WHEN is_unfused THEN 1 ELSE 0 END) AS unfused_kernel_count,
        SUM(CASE WHEN is_unfused THEN moved_byte END) AS unfused_traffic_byte,
        SUM(CASE WHEN NOT is_unfused THEN moved_byte END) AS traffic_byte,
        SUM(CASE WHEN is_unfused THEN dram_byte END) AS unfused_dram_byte,
        SUM(CASE WHEN NOT is_unfused THEN dram_byte END) AS dram_byte,
        SUM(CASE WHEN is_unfused THEN latency_s END) AS unfused_latency_s,
        SUM(CASE WHEN NOT is_unfused THEN latency_s END) AS latency_s,
        SUM(CASE WHEN is_unfused THEN energy_j END) + CASE WHEN COUNT(*) = COUNT(energy_j) THEN 0e0 END AS unfused_energy_j,
        SUM(CASE WHEN NOT is_unfused THEN energy_j END) + CASE WHEN COUNT(*) = COUNT(energy_j) THEN 0e0 END AS energy_j
    FROM sided_kernels
    GROUP BY
        model, hardware, fused_backend, unfused_backend, precision, batch, sequence, context, phase, memory_format,
        host_factor, cache_state, power, fused_id
)

SELECT
    b.model,
    b.hardware,
    b.fused_backend AS backend,
    b.precision,
    b.batch,
    b.sequence,
    b.scenario_id,
    b.context,
    b.phase,
    b.memory_format,
    b.fused_id AS kernel_id,
    k.kernel,
    k.operator_count,
    b.unfused_backend,
    -- Number of kernels that run the same operators without fusion.
    CAST(b.unfused_kernel_count AS BIGINT) AS unfused_kernel_count,
    -- Bytes across the borders of the unfused kernels. [byte]
    b.unfused_traffic_byte,
    -- Bytes across the border of the kernel. [byte]
    b.traffic_byte,
    -- Traffic of main memory without fusion. [byte]
    b.unfused_dram_byte,
    -- Traffic of main memory. [byte]
    b.dram_byte,
    -- Time without fusion. [s]
    b.unfused_latency_s,
    -- Time that the kernel adds to the run. [s]
    b.latency_s,
    -- Ratio of the time without fusion to the kernel's time.
    b.unfused_latency_s / NULLIF(b.latency_s, 0e0) AS speedup,
    -- Energy without fusion; null when a coefficient is missing. [J]
    b.unfused_energy_j,
    -- Energy of the kernel; null when a coefficient is missing. [J]
    b.energy_j,
    -- Ratio of the energy-delay product without fusion to the kernel's.
    b.unfused_energy_j * b.unfused_latency_s / NULLIF(b.energy_j * b.latency_s, 0e0) AS edp_ratio
FROM both_sides AS b
INNER JOIN kernel AS k ON k.model = b.model AND k.backend = b.fused_backend AND k.kernel_id = b.fused_id
WHERE b.scenario_id IS NOT NULL AND b.unfused_latency_s IS NOT NULL
