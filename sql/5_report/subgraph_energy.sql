-- Energy of every kernel on every part by component. Null where a coefficient of the part is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id
CREATE VIEW subgraph_energy (
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
    -- Kernel; conversions are numbered from 1,000,000.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Class of its anchor operator.
    kernel_class,
    -- What it adds to the run. [s]
    latency_s,
    -- Energy of the arithmetic: operations times energy an operation. [J]
    compute_energy_j,
    -- Energy of all traffic: bytes of each level times its energy a byte. [J]
    memory_energy_j,
    -- Static power times latency_s. [J]
    static_energy_j,
    -- Static energy of units without work. [J]
    wasted_energy_j,
    -- Total energy: arithmetic, traffic and static. [J]
    energy_j,
    -- Average power while it runs: energy over latency. [W]
    power_w,
    -- Scope the coefficients are lifted to; totals of different scopes do not compare.
    energy_scope
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
    x.subgraph_id,
    x.position,
    x.kernel_class,
    x.latency_s,
    x.compute_energy_j,
    x.memory_energy_j,
    x.static_energy_j,
    x.wasted_energy_j,
    x.energy_j,
    x.energy_j / NULLIF(x.latency_s, 0e0) AS power_w,
    s.energy_scope
FROM kernel_latency AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
LEFT JOIN energy_scope AS s ON s.hardware_id = x.hardware_id
