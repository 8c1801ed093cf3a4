-- Modifiers of the source plan compared with the cost model: for each class of operators of a run without fusion, the plan's modifiers
-- (`architectural_modifier`), and the energy-delay product of an operation that the cost model predicts, relative to an operation of
-- the run's products. Only backends that run each operator as one kernel have rows.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, operator_class
CREATE VIEW modifier_check AS
WITH class_sums AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        kernel_class,
        COUNT(*) AS kernel_count,
        SUM(flops) AS flops,
        SUM(latency_s) AS latency_s,
        SUM(energy_j) + CASE WHEN COUNT(*) = COUNT(energy_j) THEN 0e0 END AS energy_j
    FROM kernel_time
    WHERE backend NOT IN (SELECT f.backend FROM fusion_side AS f WHERE NOT f.is_unfused)
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class
),

edp_shares AS (
    SELECT
        s.*,
        c.is_matrix,
        0.5e0 * (
            s.energy_j / NULLIF(SUM(s.energy_j) OVER same_run, 0e0) + s.latency_s / NULLIF(SUM(s.latency_s) OVER same_run, 0e0)
        ) AS edp_fraction
    FROM class_sums AS s
    INNER JOIN operator_class AS c ON c.operator_class = s.kernel_class
    WINDOW same_run AS (PARTITION BY s.model, s.hardware, s.backend, s.precision, s.batch, s.sequence, s.scenario_id)
),

beside_products AS (
    SELECT
        *,
        SUM(CASE WHEN is_matrix THEN edp_fraction END) OVER same_run
        / NULLIF(SUM(CASE WHEN is_matrix THEN flops END) OVER same_run, 0e0) AS product_fraction_per_op
    FROM edp_shares
    WINDOW same_run AS (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
)

SELECT
    s.model,
    s.hardware,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    -- Class of the operators, also of conversions and copies that the backend inserts.
    s.kernel_class AS operator_class,
    -- Number of kernels of this class.
    CAST(s.kernel_count AS BIGINT) AS kernel_count,
    -- Number of operations of this class.
    s.flops,
    -- Share of the energy-delay product of all kernels.
    s.edp_fraction,
    -- Modifier of the source plan in a separate kernel.
    m.base_modifier,
    -- Modifier of the source plan within a fused kernel.
    m.fused_modifier,
    -- Energy-delay product of an operation in a separate kernel as predicted, relative to an operation of the run's products; null for
    -- a class without operations.
    s.edp_fraction / NULLIF(s.flops, 0e0) / NULLIF(s.product_fraction_per_op, 0e0) AS predicted_modifier,
    -- Source of the plan's modifiers.
    COALESCE(a.source_id, d.source_id) AS source_id,
    -- Confidence in the plan's modifiers.
    COALESCE(a.confidence, d.confidence) AS confidence
FROM beside_products AS s
INNER JOIN part_modifier AS m ON m.hardware = s.hardware AND m.operator_class = s.kernel_class
INNER JOIN hardware AS h ON h.hardware = s.hardware
INNER JOIN hardware_family AS f ON f.family = h.family
LEFT JOIN architectural_modifier AS a
    ON a.operator_class = s.kernel_class AND a.architecture_class = f.architecture_class AND NOT a.is_fused
LEFT JOIN architectural_modifier AS d
    ON d.operator_class = '*' AND d.architecture_class = f.architecture_class AND NOT d.is_fused
