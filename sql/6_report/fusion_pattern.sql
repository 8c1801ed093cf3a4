-- Savings of fusion by pattern: the fused kernels of a run with the same operators, compared with the kernels that run these operators
-- without fusion (`kernel_fusion`), ranked by the saved time. `only_s` and `up_to_s` are estimates, because other kernels keep their
-- times; costs paid once per run are excluded.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel
CREATE VIEW fusion_pattern AS
WITH pattern_sums AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        kernel,
        unfused_backend,
        COUNT(*) AS kernel_count,
        SUM(unfused_kernel_count) AS unfused_kernel_count,
        SUM(unfused_traffic_byte) AS unfused_traffic_byte,
        SUM(traffic_byte) AS traffic_byte,
        SUM(unfused_latency_s) AS unfused_latency_s,
        SUM(latency_s) AS latency_s,
        SUM(unfused_energy_j - energy_j) + CASE WHEN COUNT(*) = COUNT(unfused_energy_j - energy_j) THEN 0e0 END AS saved_j
    FROM kernel_fusion
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel, unfused_backend
),

beside_all AS (
    SELECT
        *,
        unfused_latency_s - latency_s AS saved_s,
        SUM(unfused_latency_s) OVER (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id) AS all_unfused_s
    FROM pattern_sums
),

ranked_patterns AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id ORDER BY saved_s DESC, kernel
        ) AS pattern_rank,
        SUM(saved_s) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id ORDER BY saved_s DESC, kernel
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS cumulative_s
    FROM beside_all
    WHERE unfused_kernel_count > kernel_count
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    kernel,
    unfused_backend,
    -- Rank by `saved_s`; 1 is the largest.
    CAST(pattern_rank AS BIGINT) AS pattern_rank,
    -- Number of kernels with these operators.
    CAST(kernel_count AS BIGINT) AS kernel_count,
    -- Number of kernels that run the same operators without fusion.
    CAST(unfused_kernel_count AS BIGINT) AS unfused_kernel_count,
    -- Bytes across the borders of the unfused kernels. [byte]
    unfused_traffic_byte,
    -- Bytes across the borders of the fused kernels. [byte]
    traffic_byte,
    -- Time of these operators without fusion. [s]
    unfused_latency_s,
    -- Time of the fused kernels. [s]
    latency_s,
    -- Time that fusing this pattern saves. [s]
    saved_s,
    -- Share of the unfused run's kernel time that fusing this pattern saves.
    saved_s / NULLIF(all_unfused_s, 0e0) AS saved_fraction,
    -- Energy that fusing this pattern saves; null when a coefficient is missing. [J]
    saved_j,
    -- Time of all kernels if only this pattern is fused. [s]
    all_unfused_s - saved_s AS only_s,
    -- Time of all kernels if this pattern and those of lower rank are fused. [s]
    all_unfused_s - cumulative_s AS up_to_s
FROM ranked_patterns
