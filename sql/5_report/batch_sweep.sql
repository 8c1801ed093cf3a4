-- The batches among the scenarios that differ in nothing else, side by side, and the batch at which a part
-- saturates: the smallest whose throughput is within 10 % of the best that fits.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW batch_sweep (
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
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- True when no silicon of the part exists.
    is_simulated,
    -- Time of one run. [s]
    latency_s,
    -- Samples finished in a second. [1/s]
    throughput_per_s,
    -- Energy of one sample; null when a coefficient is missing. [J]
    sample_j,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- True when it fits the part's main memory.
    fits_device,
    -- Share of the units' peak that shapes and waves leave.
    utilization_fraction,
    -- Best throughput of the batches that fit. [1/s]
    best_throughput_per_s,
    -- Share of the best throughput.
    throughput_fraction,
    -- Smallest batch that reaches 90 % of the best throughput.
    saturating_batch,
    -- Largest batch among the scenarios that fits; `largest_batch` has the true one.
    largest_fitting_batch,
    -- Assumed inputs of the catalog it rests on; see `assumed_input`.
    assumed_count
) AS
WITH batch_groups AS (
    SELECT
        *,
        MAX(CASE WHEN fits_device THEN throughput_per_s END) OVER (
            PARTITION BY
                model_id, hardware_id, policy, backend, sequence, context, phase, memory_format, host_factor,
                is_cache_warm
        ) AS best_throughput_per_s,
        MAX(CASE WHEN fits_device THEN batch END) OVER (
            PARTITION BY
                model_id, hardware_id, policy, backend, sequence, context, phase, memory_format, host_factor,
                is_cache_warm
        ) AS largest_fitting_batch
    FROM target_cost
),

saturated_groups AS (
    SELECT
        *,
        MIN(CASE WHEN fits_device AND throughput_per_s >= 0.9e0 * best_throughput_per_s THEN batch END) OVER (
            PARTITION BY
                model_id, hardware_id, policy, backend, sequence, context, phase, memory_format, host_factor,
                is_cache_warm
        ) AS saturating_batch
    FROM batch_groups
)

SELECT
    l.model,
    g.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    g.model_id,
    g.scenario_id,
    g.hardware_id,
    g.is_simulated,
    g.latency_s,
    g.throughput_per_s,
    g.sample_j,
    g.peak_memory_byte,
    g.fits_device,
    g.utilization_fraction,
    g.best_throughput_per_s,
    g.throughput_per_s / NULLIF(g.best_throughput_per_s, 0e0) AS throughput_fraction,
    CAST(ROUND(g.saturating_batch) AS BIGINT) AS saturating_batch,
    CAST(ROUND(g.largest_fitting_batch) AS BIGINT) AS largest_fitting_batch,
    i.assumed_count
FROM saturated_groups AS g
INNER JOIN run_label AS l ON l.model_id = g.model_id AND l.scenario_id = g.scenario_id
INNER JOIN assumed_input AS i
    ON i.hardware_id = g.hardware_id AND i.backend = l.backend AND i.policy = l.precision
