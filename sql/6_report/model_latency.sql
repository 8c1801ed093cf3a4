-- Time of a whole run on every part, divided by the resource that sets the pace.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_latency AS
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
    c.latency_s,
    -- Tenth percentile of the predicted time, from errors on measurements that the fit did not use. [s]
    c.latency_s * b.low_factor AS p10_s,
    -- Ninetieth percentile of the predicted time. [s]
    c.latency_s * b.high_factor AS p90_s,
    -- True if the percentiles come from measurements of the same part.
    COALESCE(b.is_part_measured, FALSE) AS is_part_measured,
    b.band_basis,
    c.compute_s,
    c.memory_s,
    c.power_s,
    c.team_s,
    c.overhead_s,
    c.run_call_s,
    c.device_s,
    c.host_issue_s,
    c.naive_s,
    -- Ratio of `latency_s` to `naive_s`.
    c.latency_s / NULLIF(c.naive_s, 0e0) AS correction_factor,
    c.roofline_s,
    h.is_simulated
FROM run_cost AS c
INNER JOIN run AS r ON r.run = c.run
INNER JOIN part AS h ON h.hardware = c.hardware
LEFT JOIN part_band AS b
    ON b.hardware = c.hardware AND b.backend = c.run.backend AND b.batch_class = r.batch_class AND b.quantity = 'latency'
