-- Every precision policy of a model on a part beside the policy that stands first: fp32 where the part runs it,
-- else the widest that it does. Same backend, sizes and memory format.
-- Grain: model, hardware, backend, precision, batch, sequence, context, phase, memory_format, scenario_id
CREATE VIEW precision_comparison (
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
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Policy it is compared with.
    base_precision,
    -- Time of one run. [s]
    latency_s,
    -- Energy of one run; null when a coefficient is missing. [J]
    energy_j,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- Time of the base over its own: above 1 is faster.
    speedup,
    -- Its energy over the base's.
    energy_ratio,
    -- Its peak memory over the base's.
    memory_ratio,
    -- True when the part has no silicon.
    is_simulated,
    -- Assumed inputs of the catalog it rests on; see `assumed_input`.
    assumed_count
) AS
WITH compared_targets AS (
    SELECT
        l.model,
        c.hardware_id AS hardware,
        l.backend,
        l.precision,
        l.batch,
        l.sequence,
        l.context,
        l.phase,
        l.memory_format,
        c.model_id,
        c.scenario_id,
        c.latency_s,
        c.energy_j,
        c.peak_memory_byte,
        c.is_simulated,
        ROW_NUMBER() OVER (
            PARTITION BY
                c.model_id, c.hardware_id, l.backend, l.batch, l.sequence, l.context, l.phase, l.memory_format,
                c.host_factor, c.is_cache_warm
            ORDER BY CASE l.precision WHEN 'fp32' THEN 0 WHEN 'bf16' THEN 1 WHEN 'fp16' THEN 2 ELSE 3 END, l.precision
        ) AS place,
        c.host_factor,
        c.is_cache_warm,
        g.assumed_count
    FROM target_cost AS c
    INNER JOIN run_label AS l ON l.model_id = c.model_id AND l.scenario_id = c.scenario_id
    INNER JOIN assumed_input AS g
        ON g.hardware_id = c.hardware_id AND g.backend = l.backend AND g.policy = l.precision
),

beside_base AS (
    SELECT
        *,
        MAX(CASE WHEN place = 1 THEN precision END) OVER same_conditions AS base_precision,
        MAX(CASE WHEN place = 1 THEN latency_s END) OVER same_conditions AS base_s,
        MAX(CASE WHEN place = 1 THEN energy_j END) OVER same_conditions AS base_j,
        MAX(CASE WHEN place = 1 THEN peak_memory_byte END) OVER same_conditions AS base_byte
    FROM compared_targets
    WINDOW same_conditions AS (
        PARTITION BY model_id, hardware, backend, batch, sequence, context, phase, memory_format, host_factor, is_cache_warm
    )
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    context,
    phase,
    memory_format,
    model_id,
    scenario_id,
    base_precision,
    latency_s,
    energy_j,
    peak_memory_byte,
    base_s / NULLIF(latency_s, 0e0) AS speedup,
    energy_j / NULLIF(base_j, 0e0) AS energy_ratio,
    peak_memory_byte / NULLIF(base_byte, 0e0) AS memory_ratio,
    is_simulated,
    assumed_count
FROM beside_base
