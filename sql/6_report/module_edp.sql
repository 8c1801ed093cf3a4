-- Time, energy, energy-delay product and bytes of every module, submodules included. The root module is the whole run without the
-- run's call (`model_edp`).
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, module_id
CREATE VIEW module_edp AS
WITH enclosing_modules AS (
    SELECT
        d.model,
        d.module_id AS descendant_id,
        a.module_id,
        a.path AS module,
        a.class_name,
        a.depth
    FROM module AS d
    INNER JOIN module AS a
        ON a.model = d.model
        AND (a.path = '' OR a.path = d.path OR STARTS_WITH(d.path, CONCAT(a.path, '.')))
),

innermost_sums AS (
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
        o.module_id,
        COUNT(DISTINCT c.operator_id) AS operator_count,
        SUM(c.latency_s) AS latency_s,
        SUM(c.energy_j) + CASE WHEN COUNT(*) > COUNT(c.energy_j) THEN NULL ELSE 0e0 END AS energy_j,
        SUM(c.edp_js) + CASE WHEN COUNT(*) > COUNT(c.edp_js) THEN NULL ELSE 0e0 END AS edp_js
    FROM operator_cost AS c
    INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
    GROUP BY
        c.model, c.hardware, c.backend, c.precision, c.batch, c.sequence, c.scenario_id, c.context, c.phase,
        c.memory_format, o.module_id
),

innermost_bytes AS (
    SELECT
        b.run,
        o.module_id,
        SUM(CASE WHEN b.role = 'weight' AND b.direction = 'read' THEN b.moved_byte ELSE 0e0 END) AS weight_byte,
        SUM(CASE WHEN b.direction = 'write' THEN b.moved_byte ELSE 0e0 END) AS output_byte
    FROM border_byte AS b
    INNER JOIN operator AS o ON o.model = b.run.model AND o.operator_id = b.operator_id
    WHERE b.backend = 'eager'
    GROUP BY b.run, o.module_id
)

SELECT
    s.model,
    s.hardware,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    s.context,
    s.phase,
    s.memory_format,
    e.module_id,
    -- Dotted path of the module; empty for the root module.
    e.module,
    e.class_name,
    e.depth,
    -- Number of executed operators in the module.
    CAST(SUM(s.operator_count) AS BIGINT) AS operator_count,
    -- Time of the module's operators. [s]
    SUM(s.latency_s) AS latency_s,
    -- Energy of the module's operators. [J]
    SUM(s.energy_j) + CASE WHEN COUNT(*) > COUNT(s.energy_j) THEN NULL ELSE 0e0 END AS energy_j,
    -- Energy-delay product of the module's operators. [J s]
    SUM(s.edp_js) + CASE WHEN COUNT(*) > COUNT(s.edp_js) THEN NULL ELSE 0e0 END AS edp_js,
    -- Bytes of weights, buffers and constants that the module's operators read. [byte]
    SUM(COALESCE(b.weight_byte, 0e0)) AS weight_byte,
    -- Bytes of results that the module's operators write, fused or not. [byte]
    SUM(COALESCE(b.output_byte, 0e0)) AS output_byte
FROM innermost_sums AS s
INNER JOIN enclosing_modules AS e ON e.model = s.model AND e.descendant_id = s.module_id
LEFT JOIN innermost_bytes AS b
    ON b.run.model = s.model AND b.run.backend = s.backend AND b.run.precision = s.precision AND b.run.batch = s.batch
    AND b.run.sequence = s.sequence AND b.run.scenario_id = s.scenario_id AND b.module_id = s.module_id
GROUP BY
    s.model, s.hardware, s.backend, s.precision, s.batch, s.sequence, s.scenario_id, s.context, s.phase,
    s.memory_format, e.module_id, e.module, e.class_name, e.depth
