-- Cost of one sample on every target: price of the part's time, energy, and the price and CO2 of the energy from each supply in
-- `electricity`.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, electricity
CREATE VIEW inference_cost AS
SELECT
    c.model,
    c.hardware,
    c.backend,
    c.precision,
    c.batch,
    c.sequence,
    c.scenario_id,
    c.context,
    c.phase,
    c.is_simulated,
    c.latency_s,
    c.throughput_per_s,
    c.price_usd_per_hour,
    -- Confidence in the price, and the month of the price; null without a price.
    p.price_basis,
    -- Price of the part's time for one sample; null when unknown. [USD]
    c.sample_usd AS inference_usd,
    -- Price of the part's time for a million samples; null when unknown. [USD]
    c.sample_usd * 1e6 AS million_inference_usd,
    -- Energy of one sample; null when a coefficient is missing. [J]
    c.sample_j AS inference_j,
    -- Supply of electricity; null if none is stated.
    e.electricity,
    -- Energy drawn from the supply for a million samples. [J]
    c.sample_j * COALESCE(e.overhead_factor, 1e0) * 1e6 AS million_inference_j,
    -- Grams of CO2 emitted for the energy of one sample; null without a supply.
    c.sample_j * e.overhead_factor / 3.6e6 * e.co2_gram_per_kwh AS inference_co2_gram,
    -- Grams of CO2 emitted for the energy of a million samples; null without a supply.
    c.sample_j * e.overhead_factor / 3.6e6 * e.co2_gram_per_kwh * 1e6 AS million_inference_co2_gram,
    -- Price of the energy of a million samples; null if the supply states no price. [USD]
    c.sample_j * e.overhead_factor / 3.6e6 * e.price_usd_per_kwh * 1e6 AS million_inference_energy_usd,
    c.fits_device,
    -- Number of assumed catalog inputs, prices included (`assumed_input`).
    g.assumed_count + g.price_count AS assumed_count
FROM target_cost AS c
LEFT JOIN part_price AS p ON p.hardware = c.hardware
LEFT JOIN electricity AS e ON e.co2_gram_per_kwh IS NOT NULL
INNER JOIN assumed_input AS g ON g.hardware = c.hardware AND g.backend = c.backend AND g.precision = c.precision
