-- Serving a language model over several devices: every split of a prompt or a step on every part. Tensor parallel is the run's, the
-- batch is that of each replica, and as many batches are in flight as a pipeline has stages.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, split
CREATE VIEW serving_split AS
WITH fitting_splits AS (
    SELECT
        s.*,
        r.context,
        r.phase,
        r.engine_version,
        r.kv_precision,
        d.tensor,
        d.pipeline,
        d.context AS context_parallel,
        d.data,
        d.expert,
        s.run.batch * d.data * d.pipeline AS samples,
        s.run.batch * d.data * s.run.sequence / NULLIF(s.pass_s, 0e0) AS tokens_per_s,
        h.dram_byte AS device_byte,
        h.is_simulated,
        s.peak_memory_byte + s.reserve_fraction * h.dram_byte AS needed_byte,
        f.implausible,
        CASE
            WHEN NOT COALESCE(f.is_impossible, FALSE)
                THEN occupied_byte(s.peak_memory_byte, s.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte
        END AS fits,
        p.price_usd_per_hour,
        s.tensor_s + s.expert_s + s.context_s + s.send_s AS links_s
    FROM served_split AS s
    INNER JOIN run AS r ON r.run = s.run
    INNER JOIN device_split AS d ON d.split = s.split
    INNER JOIN part AS h ON h.hardware = s.hardware
    LEFT JOIN part_context AS x ON x.hardware = s.hardware AND x.backend = s.run.backend
    LEFT JOIN part_price AS p ON p.hardware = s.hardware
    LEFT JOIN split_fault AS f ON f.backend = s.run.backend AND f.split = s.split
)

SELECT
    run.model,
    hardware,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    split,
    context,
    phase,
    engine_version,
    kv_precision,
    tensor,
    pipeline,
    -- Number of devices that share the tokens of a prompt or the cache of a step.
    context_parallel,
    data,
    expert,
    interconnect,
    device_count,
    -- Samples in flight in all replicas and stages.
    CAST(samples AS BIGINT) AS samples,
    -- Time until the result of a run; null if it does not fit. [s]
    CASE WHEN fits THEN latency_s END AS latency_s,
    -- Time from one run to the next; null if it does not fit. [s]
    CASE WHEN fits THEN pass_s END AS pass_s,
    work_s,
    tensor_s,
    expert_s,
    context_s,
    send_s,
    host_s,
    -- Tokens of prompts, or tokens made by steps, per second; null if it does not fit. [1/s]
    CASE WHEN fits THEN tokens_per_s END AS tokens_per_s,
    -- Energy of a token; null if it does not fit or a coefficient is missing. [J]
    CASE WHEN fits THEN dynamic_energy_j / NULLIF(run.batch * data * run.sequence, 0) + device_count * static_w / NULLIF(tokens_per_s, 0e0) END
        AS token_j,
    -- Price of a million tokens; null if it does not fit or is unknown. [USD]
    CASE WHEN fits THEN price_usd_per_hour / 3600e0 * device_count * 1e6 / NULLIF(tokens_per_s, 0e0) END AS million_tokens_usd,
    -- Cause of the largest part of the time: `weights`, `cache`, `activations`, `compute`, `links` or `host`; null if it does not
    -- fit.
    CASE
        WHEN NOT COALESCE(fits, FALSE) THEN NULL
        WHEN host_s >= GREATEST(work_s, links_s) THEN 'host'
        WHEN links_s >= work_s THEN 'links'
        WHEN compute_s >= 0.5e0 * work_s THEN 'compute'
        WHEN weight_s >= GREATEST(cache_s, work_s - compute_s - weight_s - cache_s) THEN 'weights'
        WHEN cache_s >= work_s - compute_s - weight_s - cache_s THEN 'cache'
        ELSE 'activations'
    END AS step_limit,
    expert_read_byte,
    weight_byte,
    kv_cache_byte,
    -- Memory of a device, plus the memory that its backend leaves free. [byte]
    needed_byte AS peak_memory_byte,
    -- Main memory of the part. [byte]
    device_byte,
    -- True if it fits the part's main memory with the context of its process (`part_context`); null if a rule of the split is
    -- impossible.
    fits AS fits_device,
    -- Implausible or impossible rules of the split (`implausible_number`); null without any.
    implausible,
    is_simulated
FROM fitting_splits
