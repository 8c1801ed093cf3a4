-- Time, energy and energy-delay product of every operator: its share of its kernels.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, operator_id
CREATE VIEW operator_edp AS
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
    o.operator,
    o.operator_class,
    -- Dotted path of the module it comes from.
    m.path AS module,
    c.modifier,
    c.share_fraction,
    c.latency_s,
    c.energy_j,
    c.edp_js
FROM operator_cost AS c
INNER JOIN operator AS o ON o.model = c.model AND o.operator_id = c.operator_id
INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
