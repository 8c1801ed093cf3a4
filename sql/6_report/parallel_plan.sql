-- Plans to run a model on several equal parts with data, tensor, pipeline or expert parallelism over each interconnect. A round is
-- one pass in which every device takes part; its time is divided into computing, communicating and waiting (`parallel_data`,
-- `parallel_tensor`, `parallel_pipeline`, `parallel_expert`). With one device, every strategy takes the single part's time. A plan
-- that does not fit has no time, speedup or price.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, interconnect, device_count, strategy
CREATE VIEW parallel_plan AS
WITH strategies AS (
    SELECT * FROM (VALUES ('data'), ('tensor'), ('pipeline'), ('expert')) AS s (strategy)
),

planned_rounds AS (
    SELECT
        p.run,
        p.hardware,
        p.interconnect,
        p.device_count,
        s.strategy,
        p.single_s,
        p.collective_assumed_count,
        p.run.batch * CASE s.strategy WHEN 'tensor' THEN 1 WHEN 'pipeline' THEN p.pipeline_batches ELSE p.device_count END
            AS round_samples,
        CASE s.strategy
            WHEN 'data' THEN p.data_compute_s
            WHEN 'tensor' THEN p.tensor_compute_s
            WHEN 'pipeline' THEN p.pipeline_compute_s
            ELSE p.expert_compute_s
        END AS compute_s,
        CASE s.strategy
            WHEN 'data' THEN p.data_communication_s
            WHEN 'tensor' THEN p.tensor_communication_s
            WHEN 'pipeline' THEN p.pipeline_communication_s
            ELSE p.expert_communication_s
        END AS communication_s,
        CASE s.strategy WHEN 'pipeline' THEN p.pipeline_bubble_s ELSE 0e0 END AS bubble_s,
        p.pipeline_latency_s,
        CASE s.strategy
            WHEN 'data' THEN p.data_sent_byte
            WHEN 'tensor' THEN p.tensor_sent_byte
            WHEN 'pipeline' THEN p.pipeline_sent_byte
            ELSE p.expert_sent_byte
        END AS sent_byte,
        CASE s.strategy
            WHEN 'data' THEN p.data_memory_byte
            WHEN 'tensor' THEN p.tensor_memory_byte
            WHEN 'pipeline' THEN p.pipeline_memory_byte
            ELSE p.expert_memory_byte
        END AS device_memory_byte
    FROM parallel_expert AS p
    CROSS JOIN strategies AS s
    WHERE s.strategy <> 'expert' OR p.expert_weight_fraction > 0e0
),

timed_rounds AS (
    SELECT
        p.*,
        h.dram_byte,
        h.is_simulated,
        p.compute_s + p.communication_s + p.bubble_s AS round_s,
        occupied_byte(p.device_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits,
        occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS single_fits
    FROM planned_rounds AS p
    INNER JOIN run_memory AS m ON m.run = p.run
    INNER JOIN part AS h ON h.hardware = p.hardware
    LEFT JOIN part_context AS x ON x.hardware = p.hardware AND x.backend = p.run.backend
),

fitting_rounds AS (
    SELECT
        * EXCLUDE (round_s, pipeline_latency_s),
        CASE WHEN COALESCE(fits, TRUE) THEN round_s END AS round_s,
        CASE WHEN COALESCE(fits, TRUE) THEN pipeline_latency_s END AS pipeline_latency_s,
        CASE WHEN COALESCE(single_fits, TRUE) THEN single_s END AS compared_s
    FROM timed_rounds
)

SELECT
    t.run.model,
    t.hardware,
    t.run.backend,
    t.run.precision,
    t.run.batch,
    t.run.sequence,
    t.run.scenario_id,
    r.context,
    r.phase,
    t.interconnect,
    t.device_count,
    -- Form of parallelism: `data`, `tensor`, `pipeline` or `expert`.
    t.strategy,
    -- Number of samples that all devices together finish in a round.
    CAST(ROUND(t.round_samples) AS BIGINT) AS round_samples,
    -- Time of a round: sum of `compute_s`, `communication_s` and `bubble_s`; null if the plan does not fit. [s]
    t.round_s,
    -- Part of the round in which a device runs the model. [s]
    t.compute_s,
    -- Part of the round in which a device sends and receives. [s]
    t.communication_s,
    -- Bubble: part of the round in which a device waits for other devices. [s]
    t.bubble_s,
    -- Time until the result of a sample; null if the plan does not fit. [s]
    CASE WHEN t.strategy = 'pipeline' THEN t.pipeline_latency_s ELSE t.round_s END AS latency_s,
    -- Number of samples that all devices together finish per second; null if the plan does not fit. [1/s]
    t.round_samples / NULLIF(t.round_s, 0e0) AS throughput_per_s,
    -- Ratio of the plan's throughput to the throughput of one device; null if either does not fit.
    t.round_samples / NULLIF(t.round_s, 0e0) * t.compared_s / NULLIF(t.run.batch, 0) AS speedup,
    -- Ratio of the speedup to the number of devices; null if either does not fit.
    t.round_samples / NULLIF(t.round_s, 0e0) * t.compared_s / NULLIF(t.run.batch * t.device_count, 0)
        AS scaling_efficiency_fraction,
    -- Bytes that each device sends in a round. [byte]
    t.sent_byte,
    -- Memory that the model needs on each device; activations count in full on every device. [byte]
    t.device_memory_byte,
    -- True if `device_memory_byte`, the memory that the backend leaves free and the context of the process (`part_context`)
    -- together fit the device's main memory.
    t.fits AS fits_device,
    -- Price of all devices for a million samples; null if the plan does not fit or the price is unknown. [USD]
    p.price_usd_per_hour / 3600e0 * t.device_count * t.round_s / NULLIF(t.round_samples, 0e0) * 1e6
        AS million_inference_usd,
    t.is_simulated,
    -- Number of assumed catalog inputs, including links and collectives (`assumed_input`).
    g.assumed_count + g.link_count + t.collective_assumed_count AS assumed_count
FROM fitting_rounds AS t
INNER JOIN run AS r ON r.run = t.run
LEFT JOIN part_price AS p ON p.hardware = t.hardware
INNER JOIN assumed_input AS g ON g.hardware = t.hardware AND g.backend = t.run.backend AND g.precision = t.run.precision
