-- Energy-delay product of every kernel: the kernel's local product, and its additive share of the run's product. With energy E and
-- time T of the run, and e and t of the kernel, the share is (e*T + t*E) / 2. The shares of all kernels and of the run's call
-- (`model_edp`) sum to E*T.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_edp AS
WITH run_totals AS (
    SELECT
        *,
        SUM(latency_s) OVER (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
        + run_call_s AS run_s,
        -- The total is null if the energy of any kernel is null; SUM alone would skip nulls.
        CASE
            WHEN COUNT(*) OVER (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
                = COUNT(energy_j) OVER (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
                THEN SUM(energy_j) OVER (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
                    + static_w * run_call_s
        END AS run_j
    FROM kernel_time
),

attributed_shares AS (
    SELECT
        *,
        0.5e0 * (energy_j * run_s + latency_s * run_j) AS edp_js,
        -- The fraction is rounded, because equal kernels would otherwise be ranked by the last digits of a sum of times.
        ROUND(0.5e0 * (energy_j / NULLIF(run_j, 0e0) + latency_s / NULLIF(run_s, 0e0)), 12) AS rounded_fraction
    FROM run_totals
),

ranked_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id
            ORDER BY rounded_fraction DESC, kernel_id
        ) AS edp_rank,
        SUM(edp_js) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id
            ORDER BY rounded_fraction DESC, kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS cumulative_js
    FROM attributed_shares
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    kernel_id,
    fused_kernel_id,
    kernel,
    operator,
    module,
    kernel_class,
    anchor_operator_id,
    operator_count,
    latency_s,
    energy_j,
    -- Energy times latency of the kernel alone. [J s]
    energy_j * latency_s AS local_edp_js,
    -- Additive share of the run's energy-delay product. [J s]
    edp_js,
    -- Part of `edp_js` from arithmetic. [J s]
    compute_energy_j * run_s AS compute_edp_js,
    -- Part of `edp_js` from memory traffic. [J s]
    memory_energy_j * run_s AS memory_edp_js,
    -- Part of `edp_js` from static power and delay. [J s]
    edp_js - (compute_energy_j + memory_energy_j) * run_s AS static_edp_js,
    -- Ratio of `edp_js` to the run's energy-delay product.
    edp_js / NULLIF(run_j * run_s, 0e0) AS edp_fraction,
    -- Rank by `edp_js`; 1 is the largest.
    CAST(edp_rank AS BIGINT) AS edp_rank,
    -- Cumulative share of all kernels up to this rank in the run's energy-delay product.
    cumulative_js / NULLIF(run_j * run_s, 0e0) AS cumulative_fraction,
    -- Time paid once per run, outside of kernels. [s]
    run_call_s,
    -- Time of the whole run. [s]
    run_s,
    -- Energy of the whole run; null when a coefficient is missing. [J]
    run_j
FROM ranked_kernels
