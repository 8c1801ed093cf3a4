-- Time, energy and energy-delay product of every operator: the operator's share of its kernels. A bias that a product adds within
-- its kernel has a separate row, with a share for one addition per output element times the modifier. Other reports count no
-- operation for this bias, because it is the accumulator's initial value.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, operator_id, step
CREATE VIEW operator_edp AS
WITH biased_operators AS (
    -- Operands in the order of the call: input, weight, bias.
    SELECT DISTINCT o.model, o.operator_id
    FROM operator AS o
    INNER JOIN operator_class AS c ON c.operator_class = o.operator_class AND c.takes_bias
    INNER JOIN edge AS e ON e.model = o.model AND e.consumer_operator_id = o.operator_id AND e.position = 2
),

shown_steps AS (
    SELECT 'main' AS step
    UNION ALL
    SELECT 'bias' AS step
),

weighted_operators AS (
    SELECT
        c.*,
        b.operator_id IS NOT NULL AND NOT c.is_inserted
        AND MAX(CASE WHEN c.kernel_class = 'bias' THEN 1 ELSE 0 END) OVER (
            PARTITION BY c.model, c.hardware, c.backend, c.precision, c.batch, c.sequence, c.scenario_id, c.operator_id
        ) = 0 AS adds_bias,
        a.base_modifier AS bias_base_modifier,
        a.fused_modifier AS bias_modifier,
        a.fused_modifier * c.threads / NULLIF(a.fused_modifier * c.threads + c.modifier * c.flops, 0e0) AS bias_fraction
    FROM operator_cost AS c
    INNER JOIN part_modifier AS a ON a.hardware = c.hardware AND a.operator_class = 'bias'
    LEFT JOIN biased_operators AS b ON b.model = c.model AND b.operator_id = c.operator_id
),

divided_operators AS (
    SELECT
        w.*,
        CASE WHEN w.is_inserted THEN w.kernel_class ELSE p.step END AS shown_step,
        p.step = 'bias' AS is_bias,
        CASE WHEN NOT w.adds_bias THEN 1e0 WHEN p.step = 'bias' THEN w.bias_fraction ELSE 1e0 - w.bias_fraction END AS fraction
    FROM weighted_operators AS w
    INNER JOIN shown_steps AS p ON p.step = 'main' OR w.adds_bias
)

SELECT
    c.model,
    c.hardware,
    c.backend,
    c.precision,
    c.batch,
    c.sequence,
    c.scenario_id,
    c.context,
    c.phase,
    c.memory_format,
    c.kernel_id,
    c.operator_id,
    -- Step of the operator: `main`, `bias` for a bias that the kernel adds, or the class of a kernel inserted for the operator.
    c.shown_step AS step,
    o.operator,
    -- Class of the operator; `bias` for a bias, `cast` or `copy` for a kernel inserted for the operator.
    CASE WHEN c.is_bias THEN 'bias' WHEN c.is_inserted THEN c.kernel_class ELSE o.operator_class END AS operator_class,
    -- Dotted path of the operator's module.
    m.path AS module,
    -- True for a row that shares its kernel with others.
    c.is_fused OR c.adds_bias AS is_fused,
    -- Relative cost of an operation of this class on the part's architecture, in a separate kernel.
    CASE WHEN c.is_bias THEN c.bias_base_modifier ELSE c.base_modifier END AS base_modifier,
    -- Relative cost used in this kernel: `base_modifier`, or the modifier within a fused kernel.
    CASE WHEN c.is_bias THEN c.bias_modifier ELSE c.modifier END AS modifier,
    -- Share of the operator in the kernel's cost; the shares in a kernel sum to 1.
    c.fraction * c.share_fraction AS share_fraction,
    -- Share of the run's energy-delay product.
    c.fraction * c.edp_fraction AS model_fraction,
    -- Share of the kernel's latency. [s]
    c.fraction * c.latency_s AS latency_s,
    -- Share of the kernel's energy. [J]
    c.fraction * c.energy_j AS energy_j,
    -- Share of the kernel's attributed energy-delay product. [J s]
    c.fraction * c.edp_js AS edp_js
FROM divided_operators AS c
INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
