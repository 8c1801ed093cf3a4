-- Time of every kernel on every part, split by what sets its pace, with its place under the roofline. Only latency_s adds up to the time of the model.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, subgraph_id
CREATE VIEW subgraph_latency (
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
    -- Readable name: the operator classes it fuses.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Everything that crosses its border. [byte]
    traffic_byte,
    -- Traffic of main memory. [byte]
    dram_byte,
    -- Traffic the last-level cache serves. [byte]
    resident_byte,
    -- Time of the arithmetic: the slower of the matrix and the vector units. [s]
    compute_s,
    -- Time of main memory. [s]
    dram_s,
    -- Time of the last-level cache. [s]
    cache_s,
    -- Time of the memories next to the units. [s]
    reload_s,
    -- Time of the slowest memory level: the largest of dram_s, cache_s, reload_s and kernel_cost's latency_bound_s. [s]
    memory_s,
    -- Level of memory_s.
    memory_level,
    -- Part of the shorter of compute_s and memory_s that does not overlap: 1 - overlap fraction of it. [s]
    serial_s,
    -- Dynamic energy over the power left beside static power: the least time the power limit allows; null when the power is unknown. [s]
    power_s,
    -- The larger of compute_s and memory_s plus serial_s and what libraries, fresh pages and teams of threads add
    -- (`kernel_cost`), never below power_s. [s]
    busy_s,
    -- busy_s plus the gap between kernels. [s]
    device_s,
    -- Host time to issue it and the views before it. [s]
    host_issue_s,
    -- When it ends, from the start of the run. [s]
    end_s,
    -- What it adds to the run: its end less the end of the kernel before. [s]
    latency_s,
    -- latency_s less busy_s: the device waits for dispatch or sits in the gap between kernels. [s]
    overhead_s,
    -- Time at the peak of all units with no memory. [s]
    naive_s,
    -- Roofline bound: the larger of operations at peak and main memory traffic at peak bandwidth. [s]
    roofline_s,
    -- latency_s over naive_s; null without arithmetic.
    correction_factor,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Operations a byte of main memory traffic; null when nothing moves. [ops/byte]
    arithmetic_intensity,
    -- Intensity at which the peak meets the bandwidth. [ops/byte]
    ridge_intensity,
    -- Operations a second over latency_s. [ops/s]
    attained_ops_per_s,
    -- Roofline at its intensity. [ops/s]
    ceiling_ops_per_s,
    -- Bandwidth its reads need at latency_s. [byte/s]
    ingress_byte_per_s,
    -- Bandwidth its writes need at latency_s. [byte/s]
    egress_byte_per_s,
    -- `compute`, `memory:LEVEL`, `overhead`, `power`, `threads` (they begin and end for half of its time) or `balanced`
    -- (arithmetic and memory within 10 %).
    bottleneck,
    -- True when the power limit is known; else no cap holds.
    is_power_known,
    -- True when the part has no silicon.
    is_simulated
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
    x.subgraph,
    x.kernel_class,
    x.macs,
    x.flops,
    x.traffic_byte,
    x.dram_byte,
    x.resident_byte,
    x.compute_s,
    x.dram_s,
    x.cache_s,
    x.reload_s,
    x.memory_s,
    x.memory_level,
    x.serial_s,
    x.power_s,
    x.busy_s,
    x.device_s,
    x.host_issue_s,
    x.end_s,
    x.latency_s,
    x.overhead_s,
    x.naive_s,
    x.roofline_s,
    x.latency_s / NULLIF(x.naive_s, 0e0) AS correction_factor,
    x.utilization_fraction,
    x.flops / NULLIF(x.dram_byte, 0e0) AS arithmetic_intensity,
    x.peak_ops_per_s / NULLIF(h.dram_byte_per_s, 0e0) AS ridge_intensity,
    x.flops / NULLIF(x.latency_s, 0e0) AS attained_ops_per_s,
    x.flops / NULLIF(x.roofline_s, 0e0) AS ceiling_ops_per_s,
    (x.traffic_byte - x.output_byte) / NULLIF(x.latency_s, 0e0) AS ingress_byte_per_s,
    x.output_byte / NULLIF(x.latency_s, 0e0) AS egress_byte_per_s,
    CASE
        WHEN x.overhead_s > 0.5e0 * x.latency_s THEN 'overhead'
        WHEN x.is_power_bound THEN 'power'
        WHEN x.team_s > 0.5e0 * x.latency_s THEN 'threads'
        WHEN GREATEST(x.compute_s, x.memory_s) < 1.1e0 * LEAST(x.compute_s, x.memory_s) THEN 'balanced'
        WHEN x.compute_s > x.memory_s THEN 'compute'
        ELSE CONCAT('memory:', x.memory_level)
    END AS bottleneck,
    x.tdp_w IS NOT NULL AS is_power_known,
    h.is_simulated
FROM kernel_latency AS x
INNER JOIN run_label AS l ON l.model_id = x.model_id AND l.scenario_id = x.scenario_id
INNER JOIN hardware_unit AS h ON h.hardware_id = x.hardware_id
