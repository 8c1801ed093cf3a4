-- Energy-delay product of every kernel, local and attributed, with its cumulative share of the model.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id
CREATE VIEW subgraph_edp (
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
    -- Kernel; conversions are numbered from 1,000,000.
    subgraph_id,
    -- Class of its anchor operator.
    kernel_class,
    -- What it adds to the run. [s]
    latency_s,
    -- Total energy. [J]
    energy_j,
    -- Energy times latency of the kernel alone. [J s]
    local_edp_js,
    -- Its share of the model's energy-delay product; adds up. [J s]
    edp_js,
    -- Share from arithmetic. [J s]
    compute_edp_js,
    -- Share from traffic. [J s]
    memory_edp_js,
    -- Share from static power and delay. [J s]
    static_edp_js,
    -- Its share of the model's energy-delay product.
    edp_fraction,
    -- Rank by edp_js, 1 the largest.
    edp_rank,
    -- Share of all kernels up to this rank.
    cumulative_fraction
) AS
WITH ranked_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY edp_js DESC, subgraph_id
        ) AS edp_rank,
        SUM(edp_js) OVER (
            PARTITION BY model_id, scenario_id, hardware_id ORDER BY edp_js DESC, subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS cumulative_js
    FROM kernel_edp
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
    x.subgraph_id,
    x.kernel_class,
    x.latency_s,
    x.energy_j,
    x.local_edp_js,
    x.edp_js,
    x.compute_edp_js,
    x.memory_edp_js,
    x.static_edp_js,
    x.edp_js / NULLIF(x.model_energy_j * x.model_latency_s, 0e0) AS edp_fraction,
    CAST(x.edp_rank AS BIGINT) AS edp_rank,
    x.cumulative_js / NULLIF(x.model_energy_j * x.model_latency_s, 0e0) AS cumulative_fraction
FROM ranked_kernels AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
