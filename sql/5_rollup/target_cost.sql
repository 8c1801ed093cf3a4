-- Time, energy, memory and price of a run and of one of its samples, one row per target. Comparisons, sweeps and recommendations
-- read this view.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW target_cost AS
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
    c.engine_version,
    c.kv_precision,
    c.device_count,
    c.weight_host_fraction,
    c.cache_host_fraction,
    c.input_host_fraction,
    c.host_factor,
    c.cache_state,
    c.power,
    h.is_simulated,
    h.energy_scope,
    c.latency_s,
    c.overhead_s,
    c.energy_j,
    -- Energy-delay product: energy times time. [J s]
    c.energy_j * c.latency_s AS edp_js,
    -- Samples per second. [1/s]
    c.run.batch / NULLIF(c.latency_s, 0e0) AS throughput_per_s,
    -- Time per sample: time of the run divided by its batch. [s]
    c.latency_s / NULLIF(c.run.batch, 0) AS sample_s,
    -- Energy of one sample; null when a coefficient is missing. [J]
    c.energy_j / NULLIF(c.run.batch, 0) AS sample_j,
    -- Peak memory of the run plus the memory that the backend leaves free; null if a number of the run is impossible
    -- (`condition_fault`). [byte]
    m.peak_memory_byte + m.reserve_fraction * h.dram_byte AS peak_memory_byte,
    -- Capacity of the part's main memory. [byte]
    h.dram_byte AS device_byte,
    -- True if the run fits the part's main memory together with the context of its process (`part_context`).
    occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits_device,
    p.price_usd_per_hour,
    -- Price of one sample; null when unknown. [USD]
    p.price_usd_per_hour * c.device_count / 3600e0 * c.latency_s / NULLIF(c.run.batch, 0) AS sample_usd,
    c.flops,
    c.utilization_fraction,
    c.step_limit,
    c.mfu_fraction,
    c.mbu_fraction
FROM run_cost AS c
INNER JOIN run_memory AS m ON m.run = c.run
INNER JOIN part AS h ON h.hardware = c.hardware
LEFT JOIN part_context AS x ON x.hardware = c.hardware AND x.backend = c.run.backend
LEFT JOIN part_price AS p ON p.hardware = c.hardware
