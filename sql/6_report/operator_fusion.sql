-- Gain of every operator by fusion: its cost in this run compared with its cost in the unfused run, which has one kernel per
-- operator (`backend.unfused_backend`), if that run is among the scenarios.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, operator_id, step
CREATE VIEW operator_fusion AS
WITH all_sides AS (
    SELECT backend, fused_backend, is_unfused
    FROM fusion_side
    UNION ALL
    SELECT backend, backend AS fused_backend, FALSE AS is_unfused
    FROM backend
    WHERE unfused_backend IS NULL
),

beside_unfused AS (
    SELECT
        e.*,
        s.fused_backend,
        s.is_unfused,
        SUM(CASE WHEN s.is_unfused THEN e.edp_js END) OVER same_conditions AS unfused_edp_js,
        SUM(CASE WHEN NOT s.is_unfused THEN e.edp_js END) OVER same_conditions AS fused_edp_js
    FROM operator_edp AS e
    INNER JOIN run AS r
        ON r.run.model = e.model AND r.run.backend = e.backend AND r.run.precision = e.precision AND r.run.batch = e.batch
        AND r.run.sequence = e.sequence AND r.run.scenario_id = e.scenario_id
    INNER JOIN all_sides AS s ON s.backend = e.backend
    WINDOW same_conditions AS (
        PARTITION BY
            s.fused_backend, e.model, e.hardware, e.precision, e.batch, e.sequence, e.context, e.phase, e.memory_format,
            r.host_factor, r.cache_state, r.power, e.operator_id, e.step
    )
)

SELECT
    model,
    hardware,
    fused_backend AS backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    kernel_id,
    operator_id,
    step,
    operator,
    operator_class,
    module,
    is_fused,
    base_modifier,
    modifier,
    share_fraction,
    model_fraction,
    latency_s,
    energy_j,
    edp_js,
    -- Ratio of the operator's energy-delay product in the unfused run to that in this run; null without the unfused run.
    unfused_edp_js / NULLIF(fused_edp_js, 0e0) AS fusion_ratio
FROM beside_unfused
WHERE NOT is_unfused
