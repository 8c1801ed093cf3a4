-- Time, energy and energy-delay product of every operator: its share of its kernels.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, operator_id, subgraph_id
CREATE VIEW operator_edp (
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
    -- Position in execution order.
    operator_id,
    -- Name of the node.
    operator,
    -- Class of the operator.
    operator_class,
    -- Dotted path of the module it comes from.
    module,
    -- Kernel the share comes from.
    subgraph_id,
    -- Relative weight of its class on the architecture.
    modifier,
    -- Share of the kernel it answers for.
    share_fraction,
    -- Share of the kernel's latency. [s]
    latency_s,
    -- Share of the kernel's energy. [J]
    energy_j,
    -- Share of the kernel's attributed energy-delay product. [J s]
    edp_js
) AS
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
    x.operator_id,
    o.operator,
    o.operator_class,
    m.path AS module,
    x.subgraph_id,
    x.modifier,
    x.share_fraction,
    x.latency_s,
    x.energy_j,
    x.edp_js
FROM operator_cost AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
INNER JOIN operator AS o ON o.model_id = x.model_id AND o.operator_id = x.operator_id
INNER JOIN module AS m ON m.model_id = o.model_id AND m.module_id = o.module_id
