-- Energy of a whole run on every part by component. Null where a coefficient of the part is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_energy AS
SELECT
    c.run.model,
    c.hardware,
    c.run.backend,
    c.run.precision,
    c.run.batch,
    c.run.sequence,
    c.run.scenario_id,
    c.context,
    c.phase,
    c.memory_format,
    c.energy_j,
    -- Tenth percentile of the predicted energy. [J]
    c.energy_j * b.low_factor AS p10_j,
    -- Ninetieth percentile of the predicted energy. [J]
    c.energy_j * b.high_factor AS p90_j,
    c.compute_energy_j,
    c.memory_energy_j,
    c.static_energy_j,
    c.wasted_energy_j,
    -- Share of the energy that is not wasted as static energy of idle units.
    1e0 - c.wasted_energy_j / NULLIF(c.energy_j, 0e0) AS efficiency_fraction,
    c.peak_energy_j,
    -- Average power: energy divided by time. [W]
    c.energy_j / NULLIF(c.latency_s, 0e0) AS average_power_w,
    c.tdp_w,
    c.peak_power_w,
    h.energy_scope,
    h.guess_count,
    h.is_simulated
FROM run_cost AS c
INNER JOIN run AS r ON r.run = c.run
INNER JOIN part AS h ON h.hardware = c.hardware
LEFT JOIN part_band AS b
    ON b.hardware = c.hardware AND b.backend = c.run.backend AND b.batch_class = r.batch_class AND b.quantity = 'energy'
