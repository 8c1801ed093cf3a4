-- Time of a whole run on every part, split by what sets the pace.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format
CREATE VIEW model_latency (
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
    -- Device time alone, gaps included. [s]
    device_s,
    -- Host time to issue everything. [s]
    host_issue_s,
    -- Samples a second. [1/s]
    throughput_per_s,
    -- Time at the peak of all units with no memory. [s]
    naive_s,
    -- latency_s over naive_s.
    correction_factor,
    -- Sum of the kernels' roofline bounds. [s]
    roofline_s,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    utilization_fraction,
    -- What sets the pace for the largest part of the time.
    bottleneck,
    -- True when the part has no silicon.
    is_simulated,
    -- Tenth percentile of the prediction, from the errors on rows the fit did not see. [s]
    p10_s,
    -- Ninetieth percentile of the prediction. [s]
    p90_s,
    -- True when that band rests on measurements of this very part.
    is_part_measured,
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
    x.compute_s,
    x.memory_s,
    x.power_s,
    x.team_s,
    x.overhead_s,
    x.device_s,
    x.host_issue_s,
    l.batch / NULLIF(x.latency_s, 0e0) AS throughput_per_s,
    x.naive_s,
    x.latency_s / NULLIF(x.naive_s, 0e0) AS correction_factor,
    x.roofline_s,
    x.utilization_fraction,
    x.bottleneck,
    h.status = 'simulated' AS is_simulated,
    x.latency_s * b.low_factor AS p10_s,
    x.latency_s * b.high_factor AS p90_s,
    COALESCE(b.is_part_measured, FALSE) AS is_part_measured,
    g.assumed_count
FROM model_cost AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
INNER JOIN hardware AS h ON h.hardware_id = x.hardware_id
LEFT JOIN band_choice AS b
    ON b.hardware_id = x.hardware_id AND b.backend = l.backend AND b.quantity = 'latency'
    AND b.batch_class = CASE WHEN l.batch = 1 THEN '1' WHEN l.batch <= 8 THEN '2-8' WHEN l.batch <= 64 THEN '9-64' ELSE '>64' END
INNER JOIN assumed_input AS g
    ON g.hardware_id = x.hardware_id AND g.backend = l.backend AND g.policy = l.precision
