-- Every precision policy of a model on a part, compared with a base policy under the same backend, sizes and memory format. The
-- base is the backend's default on the part, else fp32, else the widest policy that the backend runs.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW precision_comparison AS
WITH ordered_policies AS (
    SELECT
        t.*,
        CASE
            WHEN t.precision = s.default_precision THEN 0
            WHEN t.precision = 'fp32' THEN 1
            WHEN t.precision = 'bf16' THEN 2
            WHEN t.precision = 'fp16' THEN 3
            ELSE 4
        END AS policy_order
    FROM target_cost AS t
    INNER JOIN part_support AS s ON s.hardware = t.hardware AND s.backend = t.backend AND s.precision = t.precision
),

beside_base AS (
    SELECT
        *,
        FIRST_VALUE(precision) OVER same_conditions AS base_precision,
        FIRST_VALUE(latency_s) OVER same_conditions AS base_s,
        FIRST_VALUE(energy_j) OVER same_conditions AS base_j,
        FIRST_VALUE(peak_memory_byte) OVER same_conditions AS base_byte
    FROM ordered_policies
    WINDOW same_conditions AS (
        PARTITION BY
            model, hardware, backend, batch, sequence, context, phase, memory_format, engine_version,
                kv_precision, device_count, weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
        ORDER BY policy_order, precision, scenario_id
    )
)

SELECT
    b.model,
    b.hardware,
    b.backend,
    b.precision,
    b.batch,
    b.sequence,
    b.scenario_id,
    b.context,
    b.phase,
    b.memory_format,
    -- Base policy of the comparison.
    b.base_precision,
    b.latency_s,
    b.energy_j,
    b.peak_memory_byte,
    -- Speedup over the base policy: base latency divided by this policy's latency. Above 1, this policy is faster.
    b.base_s / NULLIF(b.latency_s, 0e0) AS speedup,
    -- Ratio of this policy's energy to the base policy's energy.
    b.energy_j / NULLIF(b.base_j, 0e0) AS energy_ratio,
    -- Ratio of this policy's peak memory to the base policy's peak memory.
    b.peak_memory_byte / NULLIF(b.base_byte, 0e0) AS memory_ratio,
    b.is_simulated,
    g.assumed_count
FROM beside_base AS b
INNER JOIN assumed_input AS g ON g.hardware = b.hardware AND g.backend = b.backend AND g.precision = b.precision
