-- Energy-delay product of a whole run, and the sum of its kernels' local products (energy times latency of each kernel), which
-- other tools report. The product is the sum of the shares of all kernels and of the run's call.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_edp AS
WITH preceded_kernels AS (
    SELECT
        *,
        cumulative_fraction - edp_fraction AS before_fraction
    FROM kernel_edp
),

run_sums AS (
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
        MAX(run_s) AS latency_s,
        MAX(run_j) AS energy_j,
        MAX(run_j) * MAX(run_s) AS edp_js,
        SUM(edp_js) AS kernel_edp_js,
        SUM(local_edp_js) + CASE WHEN COUNT(*) > COUNT(local_edp_js) THEN NULL ELSE 0e0 END AS local_edp_js,
        SUM(compute_edp_js) + CASE WHEN COUNT(*) > COUNT(compute_edp_js) THEN NULL ELSE 0e0 END AS compute_edp_js,
        SUM(memory_edp_js) + CASE WHEN COUNT(*) > COUNT(memory_edp_js) THEN NULL ELSE 0e0 END AS memory_edp_js,
        CAST(SUM(CASE WHEN before_fraction < 0.5e0 THEN 1 ELSE 0 END) AS BIGINT) AS kernels_for_half,
        CAST(SUM(CASE WHEN before_fraction < 0.9e0 THEN 1 ELSE 0 END) AS BIGINT) AS kernels_for_ninety
    FROM preceded_kernels
    GROUP BY
        model, hardware, backend, precision, batch, sequence, scenario_id, context, phase, memory_format
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
    -- Time of one run. [s]
    latency_s,
    -- Total energy. [J]
    energy_j,
    -- Energy-delay product: energy times time. [J s]
    edp_js,
    -- Sum over kernels of energy times latency. [J s]
    local_edp_js,
    -- Share of the energy-delay product that the sum of local products misses.
    1e0 - local_edp_js / NULLIF(edp_js, 0e0) AS local_gap_fraction,
    -- Part of `edp_js` from arithmetic. [J s]
    compute_edp_js,
    -- Part of `edp_js` from memory traffic. [J s]
    memory_edp_js,
    -- Part of `edp_js` from static power and delay. [J s]
    edp_js - compute_edp_js - memory_edp_js AS static_edp_js,
    -- Part of `edp_js` from the run's call, which belongs to no kernel. [J s]
    edp_js - kernel_edp_js AS call_edp_js,
    -- Number of kernels, largest first, whose shares sum to half of `edp_js`.
    kernels_for_half,
    -- Number of kernels, largest first, whose shares sum to 90 % of `edp_js`.
    kernels_for_ninety
FROM run_sums
