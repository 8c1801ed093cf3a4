-- Serving a language model: every decode scenario with the prefill scenario of the same conditions whose
-- prompt is nearest to its context from below. A decode step makes one token for each sample of the batch.
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

-- A prefill as long as the context counts: rows of equal tokens stand within the frame.
prefilled_runs AS (
    SELECT
        *,
        MAX(CASE WHEN phase = 'prefill' THEN sequence END) OVER reached AS prompt_tokens,
        MAX_BY(latency_s, prompt_order) OVER reached AS ttft_s,
        MAX_BY(peak_memory_byte, prompt_order) OVER reached AS prompt_memory_byte
    FROM token_runs
    WINDOW reached AS (
        PARTITION BY model, hardware, backend, precision, batch, memory_format, host_factor, cache_state, power
        ORDER BY reached_tokens
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
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
    d.is_simulated,
    -- Tokens of the prompt in the prefill scenario; null without one.
    d.prompt_tokens,
    -- Time to first token: the prefill of the prompt; null without a prefill scenario. [s]
    d.ttft_s,
    -- Time per output token: one decode step. [s]
    d.latency_s AS tpot_s,
    -- Output tokens of the whole batch in a second. [1/s]
    d.throughput_per_s AS tokens_per_s,
    -- Prompt tokens of the whole batch processed in a second; null without a prefill scenario. [1/s]
    d.batch * d.prompt_tokens / NULLIF(d.ttft_s, 0e0) AS prompt_tokens_per_s,
    -- Energy of an output token; null when a coefficient is missing. [J]
    d.sample_j AS token_j,
    -- Output tokens for a joule; null when a coefficient is missing. [1/J]
    1e0 / NULLIF(d.sample_j, 0e0) AS tokens_per_j,
    -- Rent for a million output tokens; null when unknown. [USD]
    d.sample_usd * 1e6 AS million_tokens_usd,
    m.weight_byte,
    m.kv_cache_byte,
    -- Keys and values of one token of one sample. [byte]
    m.kv_cache_byte / NULLIF(d.batch * d.context, 0) AS kv_cache_token_byte,
    -- Peak memory of the decode step or of the prefill, whichever is larger. [byte]
    GREATEST(d.peak_memory_byte, COALESCE(d.prompt_memory_byte, 0e0)) AS peak_memory_byte,
    -- True when both fit the part's main memory.
    GREATEST(d.peak_memory_byte, COALESCE(d.prompt_memory_byte, 0e0)) <= d.device_byte AS fits_device,
    -- Assumed inputs of the catalog it rests on, prices included; see `assumed_input`.
    g.assumed_count + g.price_count AS assumed_count
FROM prefilled_runs AS d
INNER JOIN run_memory AS m
    ON m.model = d.model AND m.backend = d.backend AND m.precision = d.precision AND m.batch = d.batch
    AND m.sequence = d.sequence AND m.scenario_id = d.scenario_id
INNER JOIN assumed_input AS g ON g.hardware = d.hardware AND g.backend = d.backend AND g.precision = d.precision
WHERE d.phase = 'decode'
