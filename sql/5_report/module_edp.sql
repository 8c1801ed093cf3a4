-- Time, energy and energy-delay product of every module, its submodules included. The root is the model.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, module_id
CREATE VIEW module_edp (
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
    -- Module.
    module_id,
    -- Dotted path; empty for the root.
    module,
    -- Python class.
    class_name,
    -- Number of enclosing modules.
    depth,
    -- Operators in it that run.
    operator_count,
    -- Sum of its operators. [s]
    latency_s,
    -- Sum of its operators. [J]
    energy_j,
    -- Sum of its operators. [J s]
    edp_js
) AS
WITH enclosing_modules AS (
    SELECT
        d.model_id,
        d.module_id AS descendant_id,
        a.module_id,
        a.path AS module,
        a.class_name,
        a.depth
    FROM module AS d
    INNER JOIN module AS a
        ON a.model_id = d.model_id
        AND (a.path = '' OR a.path = d.path OR STARTS_WITH(d.path, CONCAT(a.path, '.')))
),

module_sums AS (
    SELECT
        c.model_id,
        c.scenario_id,
        c.hardware_id,
        e.module_id,
        e.module,
        e.class_name,
        e.depth,
        CAST(COUNT(DISTINCT c.operator_id) AS BIGINT) AS operator_count,
        SUM(c.latency_s) AS latency_s,
        SUM(c.energy_j) + CASE WHEN COUNT(*) > COUNT(c.energy_j) THEN NULL ELSE 0e0 END AS energy_j,
        SUM(c.edp_js) + CASE WHEN COUNT(*) > COUNT(c.edp_js) THEN NULL ELSE 0e0 END AS edp_js
    FROM operator_cost AS c
    INNER JOIN operator AS o ON o.model_id = c.model_id AND o.operator_id = c.operator_id
    INNER JOIN enclosing_modules AS e ON e.model_id = o.model_id AND e.descendant_id = o.module_id
    GROUP BY c.model_id, c.scenario_id, c.hardware_id, e.module_id, e.module, e.class_name, e.depth
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
    x.module_id,
    x.module,
    x.class_name,
    x.depth,
    x.operator_count,
    x.latency_s,
    x.energy_j,
    x.edp_js
FROM module_sums AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
