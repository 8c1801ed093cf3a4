-- What one sample costs on every target: rent of the part, energy, and for each supply in `electricity`
-- the energy's price and CO2.
-- Grain: model_id, scenario_id, hardware_id, electricity
CREATE VIEW inference_cost (
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
    -- True when no silicon of the part exists.
    is_simulated,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Time of one run. [s]
    latency_s,
    -- Samples finished in a second. [1/s]
    throughput_per_s,
    -- Rental price of the part; null when unknown. [USD/h]
    price_usd_per_hour,
    -- Rent for one sample; null when unknown. [USD]
    inference_usd,
    -- Rent for a million samples; null when unknown. [USD]
    million_inference_usd,
    -- Energy of one sample; null when a coefficient is missing. [J]
    inference_j,
    -- Supply of electricity; null when none is stated.
    electricity,
    -- Energy drawn from the supply for a million samples. [J]
    million_inference_j,
    -- Grams of CO2 for one sample; null without a supply.
    inference_co2_gram,
    -- Grams of CO2 for a million samples; null without a supply.
    million_inference_co2_gram,
    -- Price of the energy of a million samples; null without a supply that states one. [USD]
    million_inference_energy_usd,
    -- True when the run fits the part's main memory.
    fits_device,
    -- Assumed inputs of the catalog it rests on, prices included; see `assumed_input`.
    assumed_count
) AS
SELECT
    l.model,
    c.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    c.is_simulated,
    c.model_id,
    c.scenario_id,
    c.hardware_id,
    c.latency_s,
    c.throughput_per_s,
    c.price_usd_per_hour,
    c.sample_usd AS inference_usd,
    c.sample_usd * 1e6 AS million_inference_usd,
    c.sample_j AS inference_j,
    e.electricity,
    c.sample_j * COALESCE(e.overhead_factor, 1e0) * 1e6 AS million_inference_j,
    c.sample_j * e.overhead_factor / 3.6e6 * e.co2_gram_per_kwh AS inference_co2_gram,
    c.sample_j * e.overhead_factor / 3.6e6 * e.co2_gram_per_kwh * 1e6 AS million_inference_co2_gram,
    c.sample_j * e.overhead_factor / 3.6e6 * e.price_usd_per_kwh * 1e6 AS million_inference_energy_usd,
    c.fits_device,
    g.assumed_count + g.price_count AS assumed_count
FROM target_cost AS c
INNER JOIN run_label AS l ON l.model_id = c.model_id AND l.scenario_id = c.scenario_id
LEFT JOIN electricity AS e ON e.co2_gram_per_kwh IS NOT NULL
INNER JOIN assumed_input AS g
    ON g.hardware_id = c.hardware_id AND g.backend = l.backend AND g.policy = l.precision
