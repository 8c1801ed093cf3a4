-- Time, energy and energy-delay product of every operator: the operator's share of its kernel's cost. Shares are in proportion to
-- operations times the modifier of the architecture; in a kernel without operations, to the elements that operators write, else
-- equal. Inserted kernels (conversions, copies, biases) belong to the operator that they serve.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, operator_id
CREATE VIEW operator_cost AS
WITH operator_flops AS (
    SELECT
        k.run,
        k.kernel_id,
        t.operator_id,
        SUM(s.flops) AS flops,
        SUM(s.threads) AS threads
    FROM run_kernel AS k
    INNER JOIN shape_step AS s ON s.run = k.run AND s.shape_id = k.shape_id
    INNER JOIN kernel_step AS t
        ON t.model = k.run.model AND t.backend = k.run.backend AND t.kernel_id = k.kernel_id AND t.step_id = s.step_id
    GROUP BY k.run, k.kernel_id, t.operator_id
),

kernel_members AS (
    SELECT
        m.model,
        m.backend,
        m.kernel_id,
        m.operator_id,
        o.operator_class
    FROM kernel_operator AS m
    INNER JOIN operator AS o ON o.model = m.model AND o.operator_id = m.operator_id
    WHERE NOT o.is_view AND NOT m.is_folded
),

weighted_members AS (
    SELECT
        k.*,
        COALESCE(m.operator_id, k.anchor_operator_id) AS operator_id,
        COALESCE(f.threads, 0e0) AS threads,
        COALESCE(f.flops, 0e0) AS flops,
        m.operator_id IS NOT NULL AND k.operator_count > 1 AS is_fused,
        a.base_modifier,
        CASE WHEN is_fused THEN a.fused_modifier ELSE a.base_modifier END AS modifier,
        COALESCE(f.flops, 0e0) * modifier AS weight
    FROM kernel_edp AS k
    -- An inserted kernel contains only its anchor.
    LEFT JOIN kernel_members AS m
        ON m.model = k.model AND m.backend = k.backend AND m.kernel_id = k.kernel_id
    LEFT JOIN operator_flops AS f
        ON f.run.model = k.model AND f.run.backend = k.backend AND f.run.precision = k.precision AND f.run.batch = k.batch
        AND f.run.sequence = k.sequence AND f.run.scenario_id = k.scenario_id AND f.kernel_id = k.kernel_id
        AND f.operator_id = m.operator_id
    INNER JOIN part_modifier AS a
        ON a.hardware = k.hardware AND a.operator_class = COALESCE(m.operator_class, k.kernel_class)
),

kernel_weights AS (
    SELECT
        *,
        SUM(weight) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS kernel_weight,
        SUM(threads) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS kernel_threads,
        COUNT(*) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS member_count,
        COUNT(weight) OVER (
            PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
        ) AS weighed_count
    FROM weighted_members
),

shared_members AS (
    SELECT
        *,
        CASE
            WHEN weighed_count < member_count THEN NULL
            WHEN kernel_weight > 0e0 THEN weight / NULLIF(kernel_weight, 0e0)
            WHEN kernel_threads > 0e0 THEN threads / NULLIF(kernel_threads, 0e0)
            ELSE 1e0 / NULLIF(CAST(member_count AS DOUBLE), 0e0)
        END AS share_fraction
    FROM kernel_weights
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
    operator_id,
    kernel_class,
    -- True for a kernel that the backend inserts for the operator.
    kernel_id <> fused_kernel_id AS is_inserted,
    -- True for an operator that shares its kernel with others.
    is_fused,
    -- Relative cost of an operation of this class on the part's architecture, in a separate kernel.
    base_modifier,
    -- Relative cost used in this kernel: `base_modifier`, or the modifier within a fused kernel.
    modifier,
    -- Number of operations.
    flops,
    -- Number of independent output elements.
    threads,
    -- Share of the operator in the kernel's cost; the shares in a kernel sum to 1; null if the modifier of an operator in the
    -- kernel is impossible.
    share_fraction,
    -- Share of the kernel's latency. [s]
    share_fraction * latency_s AS latency_s,
    -- Share of the kernel's energy. [J]
    share_fraction * energy_j AS energy_j,
    -- Share of the kernel's attributed energy-delay product. [J s]
    share_fraction * edp_js AS edp_js,
    -- Ratio of the operator's `edp_js` to the run's energy-delay product.
    share_fraction * edp_fraction AS edp_fraction
FROM shared_members
