-- Latency, throughput, energy and price of serving a language model. Each decode scenario is joined to the prefill scenario of the
-- same conditions with the longest prompt that is within the decode scenario's context. A decode step makes one token for each
-- sample of the batch.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW llm_serving AS
WITH token_runs AS (
    SELECT
        *,
        CASE WHEN phase = 'prefill' THEN sequence ELSE context END AS reached_tokens,
        CASE WHEN phase = 'prefill' THEN sequence - scenario_id / 1e9 END AS prompt_order
    FROM target_cost
    WHERE phase IN ('prefill', 'decode')
),

-- A prefill as long as the context counts, because the window's frame includes rows with equal tokens.
prefilled_runs AS (
    SELECT
        *,
        MAX(CASE WHEN phase = 'prefill' THEN sequence END) OVER reached AS prompt_tokens,
        MAX_BY(latency_s, prompt_order) OVER reached AS batch_ttft_s,
        MAX_BY(peak_memory_byte, prompt_order) OVER reached AS prompt_memory_byte,
        MAX_BY(fits_device, prompt_order) OVER reached AS prompt_fits,
        MAX(CASE WHEN batch = 1 AND phase = 'prefill' THEN sequence END) OVER reached_by_any AS alone_tokens,
        MAX_BY(latency_s, CASE WHEN batch = 1 THEN prompt_order END) OVER reached_by_any AS alone_s
    FROM token_runs
    WINDOW
        reached AS (
            PARTITION BY
                model, hardware, backend, precision, batch, engine_version, kv_precision, device_count, memory_format,
                weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
            ORDER BY reached_tokens
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ),
        reached_by_any AS (
            PARTITION BY
                model, hardware, backend, precision, engine_version, kv_precision, device_count, memory_format,
                weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
            ORDER BY reached_tokens
            RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),

-- A run that does not fit has no time, energy or price.
fitting_runs AS (
    SELECT
        * EXCLUDE (latency_s, batch_ttft_s, sample_j, sample_usd, step_limit, mfu_fraction, mbu_fraction),
        GREATEST(peak_memory_byte, COALESCE(prompt_memory_byte, 0e0)) AS needed_byte,
        fits_device AND COALESCE(prompt_fits, TRUE) AS fits,
        CASE WHEN COALESCE(fits, TRUE) THEN latency_s END AS latency_s,
        CASE WHEN COALESCE(fits, TRUE) THEN batch_ttft_s END AS batch_ttft_s,
        CASE WHEN COALESCE(fits, TRUE) AND alone_tokens = prompt_tokens THEN alone_s END AS ttft_s,
        CASE WHEN COALESCE(fits, TRUE) THEN sample_j END AS sample_j,
        CASE WHEN COALESCE(fits, TRUE) THEN sample_usd END AS sample_usd,
        CASE WHEN COALESCE(fits, TRUE) THEN step_limit END AS step_limit,
        CASE WHEN COALESCE(fits, TRUE) THEN mfu_fraction END AS mfu_fraction,
        CASE WHEN COALESCE(fits, TRUE) THEN mbu_fraction END AS mbu_fraction
    FROM prefilled_runs
    WHERE phase = 'decode'
)

SELECT
    d.model,
    d.hardware,
    d.backend,
    d.precision,
    d.batch,
    d.sequence,
    d.scenario_id,
    d.context,
    d.phase,
    d.engine_version,
    d.kv_precision,
    d.device_count,
    d.weight_host_fraction,
    d.cache_host_fraction,
    d.input_host_fraction,
    d.is_simulated,
    -- Number of prompt tokens in the prefill scenario; null without a prefill scenario.
    d.prompt_tokens,
    -- Time to first token of a request that arrives alone: the prefill of its prompt; null without a prefill scenario of batch 1 with
    -- as many tokens, or if the run does not fit. [s]
    d.ttft_s,
    -- Time to first token if the prompts of the whole batch arrive at once: their prefill; null without a prefill scenario or if the
    -- prefill does not fit. [s]
    d.batch_ttft_s,
    -- Time per output token: one decode step; null if the decode step does not fit. [s]
    d.latency_s AS tpot_s,
    d.step_limit,
    d.mfu_fraction,
    d.mbu_fraction,
    -- Output tokens of the whole batch per second. [1/s]
    d.batch / NULLIF(d.latency_s, 0e0) AS tokens_per_s,
    -- Output tokens of the whole batch per second and device. [1/s]
    d.batch / NULLIF(d.latency_s * d.device_count, 0e0) AS device_tokens_per_s,
    -- Prompt tokens of the whole batch per second; null without a prefill scenario. [1/s]
    d.batch * d.prompt_tokens / NULLIF(d.batch_ttft_s, 0e0) AS prompt_tokens_per_s,
    -- Energy of an output token; null when a coefficient is missing. [J]
    d.sample_j AS token_j,
    -- Output tokens per joule; null when a coefficient is missing. [1/J]
    1e0 / NULLIF(d.sample_j, 0e0) AS tokens_per_j,
    -- Price of a million output tokens in decode alone, without their prompts; null when unknown. [USD]
    d.sample_usd * 1e6 AS million_decode_tokens_usd,
    -- Price of a million prompt tokens; null when unknown. [USD]
    d.price_usd_per_hour * d.device_count / 3600e0 * d.batch_ttft_s / NULLIF(d.batch * d.prompt_tokens, 0) * 1e6
        AS million_prompt_tokens_usd,
    m.weight_byte,
    m.kv_cache_byte,
    -- Size of the KV cache for one token of one sample. [byte]
    (m.kv_cache_byte - m.lasting_cache_byte) / NULLIF(d.batch * d.context, 0) AS kv_cache_token_byte,
    -- Part of one sample's cache that does not grow with the context: states, and a decoder's copy of an encoder's result. [byte]
    m.lasting_cache_byte / NULLIF(d.batch, 0) AS lasting_cache_byte,
    -- Larger of the peak memories of the decode step and the prefill. [byte]
    d.needed_byte AS peak_memory_byte,
    -- True if the decode step and the prefill fit the part's main memory together with the context of the process (`part_context`).
    d.fits AS fits_device,
    -- Number of assumed catalog inputs, prices included (`assumed_input`).
    g.assumed_count + g.price_count AS assumed_count
FROM fitting_runs AS d
INNER JOIN run_memory AS m
    ON m.run.model = d.model AND m.run.backend = d.backend AND m.run.precision = d.precision AND m.run.batch = d.batch
    AND m.run.sequence = d.sequence AND m.run.scenario_id = d.scenario_id
INNER JOIN assumed_input AS g ON g.hardware = d.hardware AND g.backend = d.backend AND g.precision = d.precision
