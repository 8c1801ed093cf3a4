-- Time, energy, memory and bottleneck of a run on a part, one row per run and part. Details are in `model_latency`, `model_energy`,
-- `model_edp` and `model_memory`.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_report AS
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
    c.input_host_fraction,
    c.power,
    c.clock_fraction,
    c.kernel_count,
    c.macs,
    c.flops,
    c.traffic_byte,
    c.latency_s,
    -- Samples per second. [1/s]
    c.run.batch / NULLIF(c.latency_s, 0e0) AS throughput_per_s,
    c.bottleneck,
    c.utilization_fraction,
    c.energy_j,
    -- Energy of one sample; null when a coefficient is missing. [J]
    c.energy_j / NULLIF(c.run.batch, 0) AS energy_per_sample_j,
    -- Energy-delay product: energy times time. [J s]
    c.energy_j * c.latency_s AS edp_js,
    h.energy_scope,
    h.energy_basis,
    -- Peak memory of the run plus the memory that the backend leaves free; null if a number of the run is impossible
    -- (`condition_fault`). [byte]
    m.peak_memory_byte + m.reserve_fraction * h.dram_byte AS peak_memory_byte,
    -- True if the run fits the part's main memory together with the context of its process (`part_context`).
    occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits_device,
    h.is_simulated,
    g.assumed_count,
    -- Possible but implausible numbers that the answer depends on, for example numbers in a wrong unit (`implausible_number`); else
    -- null.
    NULLIF(CONCAT_WS(', ', g.implausible, m.implausible), '') AS implausible
FROM run_cost AS c
INNER JOIN part AS h ON h.hardware = c.hardware
INNER JOIN run_memory AS m ON m.run = c.run
LEFT JOIN part_context AS x ON x.hardware = c.hardware AND x.backend = c.run.backend
LEFT JOIN assumed_input AS g
    ON g.hardware = c.hardware AND g.backend = c.run.backend AND g.precision = c.run.precision
