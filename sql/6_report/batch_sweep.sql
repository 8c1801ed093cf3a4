-- Comparison of scenarios that differ only in batch, with the batch that saturates the part: the smallest batch whose throughput is
-- within 10 % of the best among the batches that fit.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW batch_sweep AS
WITH best_batches AS (
    SELECT
        *,
        MAX(CASE WHEN fits_device THEN throughput_per_s END) OVER (
            PARTITION BY
                model, hardware, backend, precision, sequence, context, phase, memory_format, engine_version,
                kv_precision, device_count, weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
        ) AS best_throughput_per_s,
        MAX(CASE WHEN fits_device THEN batch END) OVER (
            PARTITION BY
                model, hardware, backend, precision, sequence, context, phase, memory_format, engine_version,
                kv_precision, device_count, weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
        ) AS largest_fitting_batch
    FROM target_cost
),

saturated_batches AS (
    SELECT
        *,
        MIN(CASE WHEN fits_device AND throughput_per_s >= 0.9e0 * best_throughput_per_s THEN batch END) OVER (
            PARTITION BY
                model, hardware, backend, precision, sequence, context, phase, memory_format, engine_version,
                kv_precision, device_count, weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor, cache_state, power
        ) AS saturating_batch
    FROM best_batches
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
    b.power,
    b.is_simulated,
    b.latency_s,
    b.throughput_per_s,
    b.sample_j,
    b.peak_memory_byte,
    b.fits_device,
    b.utilization_fraction,
    -- Best throughput of the batches that fit. [1/s]
    b.best_throughput_per_s,
    -- Ratio of this batch's throughput to the best.
    b.throughput_per_s / NULLIF(b.best_throughput_per_s, 0e0) AS throughput_fraction,
    -- Smallest batch that reaches 90 % of the best throughput.
    b.saturating_batch,
    -- Largest batch of the compared scenarios that fits; `largest_batch` searches all batches.
    b.largest_fitting_batch,
    g.assumed_count
FROM saturated_batches AS b
INNER JOIN assumed_input AS g ON g.hardware = b.hardware AND g.backend = b.backend AND g.precision = b.precision
