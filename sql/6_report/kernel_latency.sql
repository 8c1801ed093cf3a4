-- Time of every kernel on every part, divided by the resource that sets the pace, and the kernel's roofline. The time of a run is
-- the sum of `latency_s` over its kernels plus the time paid once per run (`model_latency.run_call_s`); the other times do not add
-- up.
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
    fetch_s,
    memory_s,
    memory_level,
    serial_s,
    power_s,
    busy_s,
    device_s,
    host_issue_s,
    -- End of the kernel, counted from the end of the run's initial call. [s]
    end_s,
    -- Time that the kernel adds to the run: its end minus the end of the previous kernel. [s]
    latency_s,
    overhead_s,
    naive_s,
    roofline_s,
    -- Ratio of `latency_s` to `naive_s`; null without arithmetic.
    latency_s / NULLIF(naive_s, 0e0) AS correction_factor,
    utilization_fraction,
    -- Operations per byte of main-memory traffic; null without traffic. [ops/byte]
    flops / NULLIF(dram_byte, 0e0) AS arithmetic_intensity,
    -- Ridge point of the roofline: arithmetic intensity at which the peak of the kernel's units meets the bandwidth; null without
    -- arithmetic. [ops/byte]
    flops / NULLIF(naive_s * dram_byte_per_s, 0e0) AS ridge_intensity,
    -- Attained rate: operations divided by `latency_s`. [ops/s]
    flops / NULLIF(latency_s, 0e0) AS attained_ops_per_s,
    -- Rate that the roofline allows at the kernel's arithmetic intensity. [ops/s]
    flops / NULLIF(roofline_s, 0e0) AS ceiling_ops_per_s,
    -- Average read bandwidth of the kernel over `latency_s`. [byte/s]
    (moved_byte - output_byte) / NULLIF(latency_s, 0e0) AS ingress_byte_per_s,
    -- Average write bandwidth of the kernel over `latency_s`. [byte/s]
    output_byte / NULLIF(latency_s, 0e0) AS egress_byte_per_s,
    bottleneck,
    -- True if the power limit is known; otherwise no limit is applied.
    tdp_w IS NOT NULL AS is_power_known,
    is_simulated
FROM kernel_time
