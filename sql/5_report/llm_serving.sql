-- Serving a language model: every decode scenario with the prefill scenario of the same conditions whose
-- prompt is nearest to its context from below. A decode step makes one token for each sample of the batch.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW llm_serving (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens attended to in the decode step.
    context,
    -- Model.
    model_id,
    -- Scenario of the decode step.
    scenario_id,
    -- Part.
    hardware_id,
    -- True when no silicon of the part exists.
    is_simulated,
    -- Tokens of the prompt in the prefill scenario; null without one.
    prompt_tokens,
    -- Time to first token: the prefill of the prompt; null without a prefill scenario. [s]
    ttft_s,
    -- Time per output token: one decode step. [s]
    tpot_s,
    -- Output tokens of the whole batch in a second. [1/s]
    tokens_per_s,
    -- Prompt tokens of the whole batch processed in a second; null without a prefill scenario. [1/s]
    prompt_tokens_per_s,
    -- Energy of an output token; null when a coefficient is missing. [J]
    token_j,
    -- Output tokens for a joule; null when a coefficient is missing. [1/J]
    tokens_per_j,
    -- Rent for a million output tokens; null when unknown. [USD]
    million_tokens_usd,
    -- Weights at the policy's precision. [byte]
    weight_byte,
    -- Keys and values of all samples at this context. [byte]
    kv_cache_byte,
    -- Keys and values of one token of one sample. [byte]
    kv_cache_token_byte,
    -- Peak memory of the decode step or of the prefill, whichever is larger. [byte]
    peak_memory_byte,
    -- True when both fit the part's main memory.
    fits_device,
    -- Assumed inputs of the catalog it rests on, prices included; see `assumed_input`.
    assumed_count
) AS
WITH prefills AS (
    SELECT
        d.model_id,
        d.scenario_id,
        d.hardware_id,
        MAX(p.sequence) AS prompt_tokens,
        MAX_BY(p.latency_s, p.sequence) AS ttft_s,
        MAX_BY(p.peak_memory_byte, p.sequence) AS peak_memory_byte,
        MAX_BY(p.fits_device, p.sequence) AS fits_device
    FROM target_cost AS d
    INNER JOIN target_cost AS p
        ON p.model_id = d.model_id AND p.hardware_id = d.hardware_id AND p.policy = d.policy
        AND p.backend = d.backend AND p.batch = d.batch AND p.memory_format = d.memory_format
        AND p.host_factor = d.host_factor AND p.is_cache_warm = d.is_cache_warm
        AND p.phase = 'prefill' AND p.sequence <= d.context
    WHERE d.phase = 'decode'
    GROUP BY d.model_id, d.scenario_id, d.hardware_id
)

SELECT
    l.model,
    d.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.context,
    d.model_id,
    d.scenario_id,
    d.hardware_id,
    d.is_simulated,
    CAST(ROUND(p.prompt_tokens) AS BIGINT) AS prompt_tokens,
    p.ttft_s,
    d.latency_s AS tpot_s,
    d.throughput_per_s AS tokens_per_s,
    d.batch * p.prompt_tokens / NULLIF(p.ttft_s, 0e0) AS prompt_tokens_per_s,
    d.sample_j AS token_j,
    1e0 / NULLIF(d.sample_j, 0e0) AS tokens_per_j,
    d.sample_usd * 1e6 AS million_tokens_usd,
    m.weight_byte,
    m.kv_cache_byte,
    m.kv_cache_byte / NULLIF(d.batch * d.context, 0e0) AS kv_cache_token_byte,
    GREATEST(d.peak_memory_byte, COALESCE(p.peak_memory_byte, 0e0)) AS peak_memory_byte,
    d.fits_device AND COALESCE(p.fits_device, TRUE) AS fits_device,
    g.assumed_count + g.price_count AS assumed_count
FROM target_cost AS d
INNER JOIN run_label AS l ON l.model_id = d.model_id AND l.scenario_id = d.scenario_id
INNER JOIN run_memory AS m ON m.model_id = d.model_id AND m.scenario_id = d.scenario_id
LEFT JOIN prefills AS p
    ON p.model_id = d.model_id AND p.scenario_id = d.scenario_id AND p.hardware_id = d.hardware_id
INNER JOIN assumed_input AS g
    ON g.hardware_id = d.hardware_id AND g.backend = l.backend AND g.policy = l.precision
WHERE d.phase = 'decode'
