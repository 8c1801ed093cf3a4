-- Energy of a whole run on every part by component. Null where a coefficient of the part is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format
CREATE VIEW model_energy (
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
    -- Time of one run. [s]
    latency_s,
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
    -- Tenth percentile of the energy. [J]
    p10_j,
    -- Ninetieth percentile of the energy. [J]
    p90_j,
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
    x.latency_s,
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
    x.energy_j * b.low_factor AS p10_j,
    x.energy_j * b.high_factor AS p90_j,
    g.assumed_count
FROM model_cost AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
LEFT JOIN energy_scope AS s ON s.hardware_id = x.hardware_id
LEFT JOIN band_choice AS b
    ON b.hardware_id = x.hardware_id AND b.backend = l.backend AND b.quantity = 'energy'
    AND b.batch_class = CASE WHEN l.batch = 1 THEN '1' WHEN l.batch <= 8 THEN '2-8' WHEN l.batch <= 64 THEN '9-64' ELSE '>64' END
INNER JOIN assumed_input AS g
    ON g.hardware_id = x.hardware_id AND g.backend = l.backend AND g.policy = l.precision
