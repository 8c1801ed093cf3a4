-- Every target of a model as a choice: what it takes to answer a sample, whether it fits, and which other
-- choice beats it in latency, energy, memory, price and rent alike. A choice that none beats is on the Pareto
-- front. Energies of different scopes are not compared, an unknown energy or price beats nothing.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW candidate (
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
    -- Tokens processed a sample.
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
    -- Part.
    hardware_id,
    -- True when no silicon of the part exists.
    is_simulated,
    -- Time until the result of a run. [s]
    latency_s,
    -- Samples finished in a second. [1/s]
    throughput_per_s,
    -- Energy of one sample; null when a coefficient is missing. [J]
    sample_j,
    -- Energy-delay product of a run. [J s]
    edp_js,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- True when it fits the part's main memory.
    fits_device,
    -- Rental price of the part; null when unknown. [USD/h]
    price_usd_per_hour,
    -- Rent for a million samples; null when unknown. [USD]
    million_inference_usd,
    -- Scope of the energy: totals of different scopes do not compare.
    energy_scope,
    -- Choices that beat it in every respect.
    dominated_by_count,
    -- One of them, the fastest, as `part backend precision batch`; null on the Pareto front.
    dominated_by,
    -- Assumed inputs of the catalog it rests on, prices included; see `assumed_input`.
    assumed_count
) AS
WITH energy_scopes AS (
    SELECT hardware_id, MIN(scope) AS energy_scope
    FROM energy_profile
    GROUP BY hardware_id
),

-- Evaluated once: a second evaluation may add up in another order, and a choice would beat itself.
choices AS MATERIALIZED (
    SELECT
        c.*,
        s.energy_scope,
        c.sample_usd * 1e6 AS million_inference_usd,
        COALESCE(c.sample_j, 1e300) AS comparable_j,
        COALESCE(c.sample_usd * 1e6, 1e300) AS comparable_usd,
        COALESCE(c.price_usd_per_hour, 1e300) AS comparable_usd_per_hour
    FROM target_cost AS c
    LEFT JOIN energy_scopes AS s ON s.hardware_id = c.hardware_id
),

losers AS (
    SELECT
        a.model_id,
        a.scenario_id,
        a.hardware_id,
        COUNT(*) AS dominated_by_count,
        MIN_BY(
            CONCAT(b.hardware_id, ' ', b.backend, ' ', b.policy, ' batch ', CAST(CAST(ROUND(b.batch) AS BIGINT) AS VARCHAR)),
            b.latency_s
        ) AS dominated_by
    FROM choices AS a
    INNER JOIN choices AS b
        ON b.model_id = a.model_id
        AND b.sequence = a.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.latency_s <= a.latency_s AND b.comparable_j <= a.comparable_j
        AND b.peak_memory_byte <= a.peak_memory_byte AND b.comparable_usd <= a.comparable_usd
        AND b.comparable_usd_per_hour <= a.comparable_usd_per_hour
    WHERE
        b.fits_device
        AND (NOT b.is_simulated OR a.is_simulated)
        AND COALESCE(b.energy_scope, 'none') = COALESCE(a.energy_scope, 'none')
        AND (
            b.latency_s < a.latency_s OR b.comparable_j < a.comparable_j
            OR b.peak_memory_byte < a.peak_memory_byte OR b.comparable_usd < a.comparable_usd
        )
    GROUP BY a.model_id, a.scenario_id, a.hardware_id
)

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
    c.hardware_id,
    c.is_simulated,
    c.latency_s,
    c.throughput_per_s,
    c.sample_j,
    c.edp_js,
    c.peak_memory_byte,
    c.fits_device,
    c.price_usd_per_hour,
    c.million_inference_usd,
    c.energy_scope,
    CAST(COALESCE(x.dominated_by_count, 0) AS BIGINT) AS dominated_by_count,
    x.dominated_by,
    g.assumed_count + g.price_count AS assumed_count
FROM choices AS c
INNER JOIN run_label AS l ON l.model_id = c.model_id AND l.scenario_id = c.scenario_id
LEFT JOIN losers AS x
    ON x.model_id = c.model_id AND x.scenario_id = c.scenario_id AND x.hardware_id = c.hardware_id
INNER JOIN assumed_input AS g
    ON g.hardware_id = c.hardware_id AND g.backend = l.backend AND g.policy = l.precision
