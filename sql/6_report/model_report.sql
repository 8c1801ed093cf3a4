-- One row a run and part: how long, how many joules, how much memory, what sets the pace. More of each in
-- `model_latency`, `model_energy`, `model_edp` and `model_memory`.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_report AS
SELECT
    c.model,
    c.hardware,
    c.backend,
    c.precision,
    c.batch,
    c.sequence,
    c.scenario_id,
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
    -- Samples finished in a second. [1/s]
    c.batch / NULLIF(c.latency_s, 0e0) AS throughput_per_s,
    c.bottleneck,
    c.utilization_fraction,
    c.energy_j,
    -- Energy of one sample; null when a coefficient is missing. [J]
    c.energy_j / NULLIF(c.batch, 0) AS energy_per_sample_j,
    -- Energy times time. [J s]
    c.energy_j * c.latency_s AS edp_js,
    h.energy_scope,
    h.energy_basis,
    -- Memory of the run and what its backend leaves free; null where a number that it rests on cannot be (`condition_fault`). [byte]
    m.peak_memory_byte + m.reserve_fraction * h.dram_byte AS peak_memory_byte,
    -- True when it fits the part's main memory with the context of its process (`part_context`).
    occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits_device,
    h.is_simulated,
    g.assumed_count,
    -- Numbers that the answer rests on and that may be, though they hardly are: off by a unit, or forgotten
    -- (`implausible_number`); null where there are none.
    NULLIF(CONCAT_WS(', ', g.implausible, m.implausible), '') AS implausible
FROM model_cost AS c
INNER JOIN part AS h ON h.hardware = c.hardware
INNER JOIN run_memory AS m
    ON m.run.model = c.model AND m.run.backend = c.backend AND m.run.precision = c.precision AND m.run.batch = c.batch
    AND m.run.sequence = c.sequence AND m.run.scenario_id = c.scenario_id
LEFT JOIN part_context AS x ON x.hardware = c.hardware AND x.backend = c.backend
LEFT JOIN assumed_input AS g
    ON g.hardware = c.hardware AND g.backend = c.backend AND g.precision = c.precision
