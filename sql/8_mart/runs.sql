-- Time, energy, memory and cost of every stored run on every part, from answers at hand. The times of compute, memory, power, team
-- and overhead add up to `latency_s`. Key: model, hardware, scenario_id; model is of `mart.models`, hardware of `mart.parts`.
-- Grain: model, hardware, scenario_id
CREATE VIEW runs AS
WITH usual_runs AS (
    SELECT
        c.model,
        c.hardware,
        c.scenario_id,
        CASE WHEN r.run.backend <> d.backend THEN 2 WHEN r.run.precision <> d.precision THEN 1 ELSE 0 END AS distance,
        COALESCE(p.bits, 0) AS bits,
        c.latency_s
    FROM answer.model_report AS c
    INNER JOIN model AS m ON m.model = c.model
    INNER JOIN default_target AS d ON d.hardware = c.hardware
    INNER JOIN run AS r ON r.run.model = c.model AND r.run.scenario_id = c.scenario_id
    LEFT JOIN precision AS p ON p.precision = r.run.precision
    WHERE
        r.run.batch = m.default_batch AND r.run.sequence = COALESCE(m.default_sequence, r.run.sequence) AND r.phase <> 'decode'
        AND r.memory_format = 'nchw' AND r.power = 'default' AND r.cache_state = 'warm' AND r.host_factor = 1e0
        AND r.device_count = 1 AND r.engine_version = 'none' AND r.kv_precision = 'none'
        AND r.weight_host_fraction = 0e0 AND r.cache_host_fraction = 0e0 AND r.input_host_fraction = 0e0
),

default_runs AS (
    SELECT
        model,
        hardware,
        scenario_id,
        distance > 0 AS is_fallback,
        ROW_NUMBER() OVER (PARTITION BY model, hardware ORDER BY distance, bits DESC, latency_s, scenario_id) AS place
    FROM usual_runs
)

SELECT
    c.model,
    c.hardware,
    c.scenario_id,
    c.backend,
    c.precision,
    c.batch,
    c.sequence,
    c.context,
    c.phase,
    c.memory_format,
    c.power,
    -- True for one run of each model on each part: the run that a question means which names no condition (`mart.parts`). If the file
    -- does not store that run, the one of the same backend, else of any, in the widest numbers at the default sizes of the model; then
    -- `is_fallback` is true.
    d.place IS NOT NULL AS is_default,
    -- True for a default run whose backend or precision is not the one that a question means, because the file does not store that run.
    COALESCE(d.is_fallback, FALSE) AS is_fallback,
    c.latency_s,
    l.p10_s,
    l.p90_s,
    c.throughput_per_s,
    c.bottleneck,
    l.compute_s,
    l.memory_s,
    l.power_s,
    l.team_s,
    l.overhead_s,
    c.utilization_fraction,
    c.energy_j,
    c.energy_per_sample_j,
    e.average_power_w,
    c.edp_js,
    c.energy_scope,
    c.macs,
    c.flops,
    c.traffic_byte,
    c.kernel_count,
    c.peak_memory_byte,
    c.fits_device,
    t.sample_usd,
    l.is_part_measured,
    c.is_simulated,
    c.assumed_count,
    c.implausible,
    -- False if a fact of the run changed after its evaluation: its numbers are null until `charz refresh`.
    t.model IS NOT NULL AS is_at_hand
FROM answer.model_report AS c
LEFT JOIN answer.model_latency AS l ON l.model = c.model AND l.hardware = c.hardware AND l.scenario_id = c.scenario_id
LEFT JOIN answer.model_energy AS e ON e.model = c.model AND e.hardware = c.hardware AND e.scenario_id = c.scenario_id
LEFT JOIN answer.target_cost AS t ON t.model = c.model AND t.hardware = c.hardware AND t.scenario_id = c.scenario_id
LEFT JOIN default_runs AS d
    ON d.model = c.model AND d.hardware = c.hardware AND d.scenario_id = c.scenario_id AND d.place = 1
