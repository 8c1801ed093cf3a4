-- Energy-delay product of every kernel: local, and attributed so that it adds up. With E and T of the
-- model, the attributed share of a kernel is (e*T + t*E) / 2, which sums to E*T.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW kernel_edp (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Class of its anchor operator.
    kernel_class,
    -- Operator that gives it its character.
    anchor_operator_id,
    -- What it adds to the run. [s]
    latency_s,
    -- Total energy. [J]
    energy_j,
    -- Energy times latency of the kernel alone. [J s]
    local_edp_js,
    -- Its share of the model's energy-delay product; adds up. [J s]
    edp_js,
    -- Share of edp_js from arithmetic. [J s]
    compute_edp_js,
    -- Share of edp_js from traffic. [J s]
    memory_edp_js,
    -- Share of edp_js from static power and delay. [J s]
    static_edp_js,
    -- Energy of the whole run; null when a coefficient is missing. [J]
    model_energy_j,
    -- Time of the whole run. [s]
    model_latency_s
) AS
WITH run_totals AS (
    SELECT
        *,
        -- Unknown as soon as one kernel's is: a sum passes over nulls.
        SUM(energy_j) OVER (PARTITION BY model_id, scenario_id, hardware_id)
        + CASE
            WHEN COUNT(*) OVER (PARTITION BY model_id, scenario_id, hardware_id)
                > COUNT(energy_j) OVER (PARTITION BY model_id, scenario_id, hardware_id)
                THEN NULL
            ELSE 0e0
        END AS model_energy_j,
        SUM(latency_s) OVER (PARTITION BY model_id, scenario_id, hardware_id) AS model_latency_s
    FROM kernel_latency
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    kernel_class,
    anchor_operator_id,
    latency_s,
    energy_j,
    energy_j * latency_s AS local_edp_js,
    0.5e0 * (energy_j * model_latency_s + latency_s * model_energy_j) AS edp_js,
    compute_energy_j * model_latency_s AS compute_edp_js,
    memory_energy_j * model_latency_s AS memory_edp_js,
    0.5e0 * (energy_j * model_latency_s + latency_s * model_energy_j)
    - (compute_energy_j + memory_energy_j) * model_latency_s AS static_edp_js,
    model_energy_j,
    model_latency_s
FROM run_totals
