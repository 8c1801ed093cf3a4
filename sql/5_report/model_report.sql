-- One row a run and part: time, energy, energy-delay product, what sets the pace.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format
CREATE VIEW model_report (
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
    -- Kernels launched.
    kernel_count,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Time of one run. [s]
    latency_s,
    -- Energy times time. [J s]
    edp_js,
    -- Part of it in which arithmetic sets the pace. [s]
    compute_s,
    -- Part of it in which a memory level sets the pace. [s]
    memory_s,
    -- Part of it in which the power limit sets the pace. [s]
    power_s,
    -- Part of it in which teams of threads begin and end. [s]
    team_s,
    -- Part of it in which the device waits: dispatch and gaps. [s]
    overhead_s,
    -- Samples a second. [1/s]
    throughput_per_s,
    -- Time at the peak of all units with no memory. [s]
    naive_s,
    -- latency_s over naive_s.
    correction_factor,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    utilization_fraction,
    -- What sets the pace for the largest part of the time.
    bottleneck,
    -- True when the part has no silicon.
    is_simulated,
    -- Energy of the arithmetic. [J]
    compute_energy_j,
    -- Energy of all traffic. [J]
    memory_energy_j,
    -- Static power times latency_s. [J]
    static_energy_j,
    -- Static energy of units without work. [J]
    wasted_energy_j,
    -- Total energy. [J]
    energy_j,
    -- Energy of one sample. [J]
    energy_per_sample_j,
    -- Energy over time. [W]
    average_power_w,
    -- Highest power of any kernel. [W]
    peak_power_w,
    -- Scope the coefficients are lifted to; totals of different scopes do not compare.
    energy_scope,
    -- Energy coefficients of the part that are assumed.
    guess_count,
    -- Assumed inputs of the catalog it rests on; see `assumed_input`.
    assumed_count
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
    x.kernel_count,
    x.macs,
    x.flops,
    x.latency_s,
    x.energy_j * x.latency_s AS edp_js,
    x.compute_s,
    x.memory_s,
    x.power_s,
    x.team_s,
    x.overhead_s,
    l.batch / NULLIF(x.latency_s, 0e0) AS throughput_per_s,
    x.naive_s,
    x.latency_s / NULLIF(x.naive_s, 0e0) AS correction_factor,
    x.utilization_fraction,
    x.bottleneck,
    h.status = 'simulated' AS is_simulated,
    x.compute_energy_j,
    x.memory_energy_j,
    x.static_energy_j,
    x.wasted_energy_j,
    x.energy_j,
    x.energy_j / NULLIF(CAST(l.batch AS DOUBLE), 0e0) AS energy_per_sample_j,
    x.energy_j / NULLIF(x.latency_s, 0e0) AS average_power_w,
    x.peak_power_w,
    s.energy_scope,
    s.guess_count,
    g.assumed_count
FROM model_cost AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
INNER JOIN hardware AS h ON h.hardware_id = x.hardware_id
LEFT JOIN energy_scope AS s ON s.hardware_id = x.hardware_id
INNER JOIN assumed_input AS g
    ON g.hardware_id = x.hardware_id AND g.backend = l.backend AND g.policy = l.precision
