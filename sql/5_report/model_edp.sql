-- Energy-delay product of a whole run, and the figure other tools report: the sum of the local products of its kernels.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format
CREATE VIEW model_edp (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Time of one run. [s]
    latency_s,
    -- Total energy. [J]
    energy_j,
    -- Energy times time. [J s]
    edp_js,
    -- Sum of the kernels' own energy times their own latency. [J s]
    local_edp_js,
    -- Share of the energy-delay product that the sum of local products misses.
    local_gap_fraction,
    -- Share from arithmetic. [J s]
    compute_edp_js,
    -- Share from traffic. [J s]
    memory_edp_js,
    -- Share from static power and delay. [J s]
    static_edp_js,
    -- Kernels, largest first, that make half of it.
    kernels_for_half,
    -- Kernels, largest first, that make 90 % of it.
    kernels_for_ninety
) AS
WITH ranked_kernels AS (
    SELECT
        *,
        SUM(edp_js) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY edp_js DESC, subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - edp_js AS before_js
    FROM kernel_edp
),

run_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        SUM(latency_s) AS latency_s,
        SUM(energy_j) + CASE WHEN COUNT(*) > COUNT(energy_j) THEN NULL ELSE 0e0 END AS energy_j,
        SUM(local_edp_js) + CASE WHEN COUNT(*) > COUNT(local_edp_js) THEN NULL ELSE 0e0 END AS local_edp_js,
        SUM(compute_edp_js) + CASE WHEN COUNT(*) > COUNT(compute_edp_js) THEN NULL ELSE 0e0 END AS compute_edp_js,
        SUM(memory_edp_js) + CASE WHEN COUNT(*) > COUNT(memory_edp_js) THEN NULL ELSE 0e0 END AS memory_edp_js,
        SUM(static_edp_js) + CASE WHEN COUNT(*) > COUNT(static_edp_js) THEN NULL ELSE 0e0 END AS static_edp_js,
        CAST(SUM(CASE WHEN before_js < 0.5e0 * model_energy_j * model_latency_s THEN 1 ELSE 0 END) AS BIGINT)
            AS kernels_for_half,
        CAST(SUM(CASE WHEN before_js < 0.9e0 * model_energy_j * model_latency_s THEN 1 ELSE 0 END) AS BIGINT)
            AS kernels_for_ninety
    FROM ranked_kernels
    GROUP BY model_id, scenario_id, hardware_id
)

SELECT
    l.model,
    x.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.memory_format,
    l.model_id,
    l.scenario_id,
    x.latency_s,
    x.energy_j,
    x.energy_j * x.latency_s AS edp_js,
    x.local_edp_js,
    1e0 - x.local_edp_js / NULLIF(x.energy_j * x.latency_s, 0e0) AS local_gap_fraction,
    x.compute_edp_js,
    x.memory_edp_js,
    x.static_edp_js,
    x.kernels_for_half,
    x.kernels_for_ninety
FROM run_sums AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
