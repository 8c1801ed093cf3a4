-- One line a target: time, energy, memory and price of a run and of one sample of it. The row the
-- comparisons, sweeps and recommendations are made of.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW target_cost (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Precision policy.
    policy,
    -- Backend.
    backend,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Host dispatch time relative to the reference host.
    host_factor,
    -- 1 when the last-level cache may hold a tensor from its producer, else 0.
    is_cache_warm,
    -- True when no silicon of the part exists.
    is_simulated,
    -- Time of one run. [s]
    latency_s,
    -- Part of it in which the device waits for dispatch. [s]
    overhead_s,
    -- Energy of one run; null when a coefficient is missing. [J]
    energy_j,
    -- Energy times time. [J s]
    edp_js,
    -- Samples finished in a second. [1/s]
    throughput_per_s,
    -- Time of a run shared by its samples. [s]
    sample_s,
    -- Energy of one sample. [J]
    sample_j,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- Main memory of the part. [byte]
    device_byte,
    -- True when it fits the part's main memory.
    fits_device,
    -- Rental price of the part; null when unknown. [USD/h]
    price_usd_per_hour,
    -- Rent for one sample; null when unknown. [USD]
    sample_usd,
    -- Operations of the run.
    flops,
    -- Share of the units' peak that shapes and waves leave.
    utilization_fraction
) AS
SELECT
    c.model_id,
    c.scenario_id,
    c.hardware_id,
    r.batch,
    r.sequence,
    r.context,
    r.phase,
    r.policy,
    r.backend,
    r.memory_format,
    r.host_factor,
    r.is_cache_warm,
    h.is_simulated,
    c.latency_s,
    c.overhead_s,
    c.energy_j,
    c.energy_j * c.latency_s AS edp_js,
    r.batch / NULLIF(c.latency_s, 0e0) AS throughput_per_s,
    c.latency_s / NULLIF(r.batch, 0e0) AS sample_s,
    c.energy_j / NULLIF(r.batch, 0e0) AS sample_j,
    m.peak_memory_byte,
    h.dram_byte AS device_byte,
    m.peak_memory_byte <= h.dram_byte AS fits_device,
    p.price_usd_per_hour,
    p.price_usd_per_hour / 3600e0 * c.latency_s / NULLIF(r.batch, 0e0) AS sample_usd,
    c.flops,
    c.utilization_fraction
FROM model_cost AS c
INNER JOIN run AS r ON r.model_id = c.model_id AND r.scenario_id = c.scenario_id
INNER JOIN run_memory AS m ON m.model_id = c.model_id AND m.scenario_id = c.scenario_id
INNER JOIN hardware_unit AS h ON h.hardware_id = c.hardware_id
LEFT JOIN price AS p ON p.hardware_id = c.hardware_id
