-- Time, energy and energy-delay product of every operator: its kernel's, shared among the operators the
-- kernel fuses by operations times architectural modifier; where the kernel computes nothing, by the
-- elements its operators write, else equally. Inserted kernels (conversions, copies, biases) belong to the operator
-- they are made for.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id, operator_id
CREATE VIEW operator_cost (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel the share comes from.
    subgraph_id,
    -- Operator.
    operator_id,
    -- Relative weight of its class on the architecture.
    modifier,
    -- Share of the kernel it answers for; a kernel's shares sum to 1.
    share_fraction,
    -- Share of the kernel's latency. [s]
    latency_s,
    -- Share of the kernel's energy. [J]
    energy_j,
    -- Share of the kernel's attributed energy-delay product. [J s]
    edp_js
) AS
WITH operator_flops AS (
    SELECT model_id, scenario_id, subgraph_id, operator_id, SUM(flops) AS flops, SUM(threads) AS threads
    FROM kernel_part
    GROUP BY model_id, scenario_id, subgraph_id, operator_id
),

kernel_members AS (
    SELECT
        r.model_id,
        r.scenario_id,
        so.subgraph_id,
        so.operator_id,
        o.operator_class,
        s.operator_count > 1 AS is_fused,
        COALESCE(f.flops, 0e0) AS flops,
        COALESCE(f.threads, 0e0) AS threads
    FROM run AS r
    INNER JOIN subgraph_operator AS so ON so.model_id = r.model_id AND so.backend = r.backend
    INNER JOIN operator AS o ON o.model_id = so.model_id AND o.operator_id = so.operator_id
    INNER JOIN subgraph AS s
        ON s.model_id = so.model_id AND s.backend = so.backend AND s.subgraph_id = so.subgraph_id
    LEFT JOIN operator_flops AS f
        ON f.model_id = r.model_id AND f.scenario_id = r.scenario_id AND f.operator_id = so.operator_id
    WHERE NOT o.is_view AND NOT so.is_folded
),

modifiers AS (
    SELECT
        h.hardware_id,
        a.operator_class,
        a.is_fused,
        a.modifier
    FROM hardware AS h
    INNER JOIN architectural_modifier AS a
        ON a.architecture_class = CASE h.family
            WHEN 'cpu' THEN 'sequential'
            WHEN 'gpu' THEN 'data_parallel'
            WHEN 'kpu' THEN 'domain_flow'
            WHEN 'dsp' THEN 'sequential'
            ELSE 'systolic'
        END
),

weighted_members AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        k.subgraph_id,
        COALESCE(m.operator_id, k.anchor_operator_id) AS operator_id,
        k.latency_s,
        k.energy_j,
        k.edp_js,
        COALESCE(m.threads, 0e0) AS threads,
        COALESCE(own.modifier, general.modifier, 1e0) AS modifier,
        COALESCE(m.flops, 0e0) * COALESCE(own.modifier, general.modifier, 1e0) AS weight
    FROM kernel_edp AS k
    -- An inserted kernel is no subgraph: it has no members but its anchor.
    LEFT JOIN kernel_members AS m
        ON m.model_id = k.model_id AND m.scenario_id = k.scenario_id AND m.subgraph_id = k.subgraph_id
    LEFT JOIN modifiers AS own
        ON own.hardware_id = k.hardware_id AND own.operator_class = COALESCE(m.operator_class, k.kernel_class)
        AND own.is_fused = COALESCE(m.is_fused, FALSE)
    LEFT JOIN modifiers AS general
        ON general.hardware_id = k.hardware_id AND general.operator_class = '*' AND general.is_fused = COALESCE(m.is_fused, FALSE)
),

kernel_weights AS (
    SELECT
        *,
        SUM(weight) OVER (PARTITION BY model_id, scenario_id, hardware_id, subgraph_id) AS kernel_weight,
        SUM(threads) OVER (PARTITION BY model_id, scenario_id, hardware_id, subgraph_id) AS kernel_threads,
        COUNT(*) OVER (PARTITION BY model_id, scenario_id, hardware_id, subgraph_id) AS member_count
    FROM weighted_members
),

shared_members AS (
    SELECT
        *,
        CASE
            WHEN kernel_weight > 0e0 THEN weight / NULLIF(kernel_weight, 0e0)
            WHEN kernel_threads > 0e0 THEN threads / NULLIF(kernel_threads, 0e0)
            ELSE 1e0 / NULLIF(CAST(member_count AS DOUBLE), 0e0)
        END AS share_fraction
    FROM kernel_weights
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    operator_id,
    modifier,
    share_fraction,
    share_fraction * latency_s AS latency_s,
    share_fraction * energy_j AS energy_j,
    share_fraction * edp_js AS edp_js
FROM shared_members
