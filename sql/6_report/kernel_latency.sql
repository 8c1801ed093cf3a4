-- Time of every kernel on every part, split by what sets its pace, with its place under the roofline. Only latency_s adds
-- up, with the run's call (`model_latency.run_call_s`), to the time of the run.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_latency AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    kernel_id,
    position,
    kernel,
    operator,
    module,
    kernel_class,
    macs,
    flops,
    moved_byte,
    dram_byte,
    resident_byte,
    compute_s,
    dram_s,
    cache_s,
    reload_s,
    memory_s,
    memory_level,
    serial_s,
    power_s,
    busy_s,
    device_s,
    host_issue_s,
    -- When it ends, from the end of the run's call. [s]
    end_s,
    -- Time that it adds to the run: its end less the end of the kernel before. [s]
    latency_s,
    overhead_s,
    naive_s,
    roofline_s,
    -- latency_s over naive_s; null without arithmetic.
    latency_s / NULLIF(naive_s, 0e0) AS correction_factor,
    utilization_fraction,
    -- Operations a byte of main memory traffic; null when nothing moves. [ops/byte]
    flops / NULLIF(dram_byte, 0e0) AS arithmetic_intensity,
    -- Intensity at which the peak of the units it uses meets the bandwidth; null without arithmetic. [ops/byte]
    flops / NULLIF(naive_s * dram_byte_per_s, 0e0) AS ridge_intensity,
    -- Operations a second over latency_s. [ops/s]
    flops / NULLIF(latency_s, 0e0) AS attained_ops_per_s,
    -- Roofline at its intensity. [ops/s]
    flops / NULLIF(roofline_s, 0e0) AS ceiling_ops_per_s,
    -- Bandwidth its reads need at latency_s. [byte/s]
    (moved_byte - output_byte) / NULLIF(latency_s, 0e0) AS ingress_byte_per_s,
    -- Bandwidth its writes need at latency_s. [byte/s]
    output_byte / NULLIF(latency_s, 0e0) AS egress_byte_per_s,
    bottleneck,
    -- True when the power limit is known; else no cap holds.
    tdp_w IS NOT NULL AS is_power_known,
    is_simulated
FROM kernel_time
