-- Every target of a model as a choice: time, energy, memory, price, a test whether the run fits, and the choices that dominate it.
-- One choice dominates another if it is at most 1 % worse in each of latency, energy, memory, price and rent, and better in the
-- product of the first four. A choice that no other dominates is on the Pareto front. Energies of different scopes are not
-- compared; a choice with an unknown energy or price dominates none.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW recommendation AS
-- An unknown value counts as larger than any number.
WITH choices AS (
    SELECT
        k.run,
        k.hardware,
        k.context,
        k.phase,
        k.memory_format,
        k.power,
        h.is_simulated,
        h.energy_scope,
        h.energy_basis,
        COALESCE(h.energy_scope, 'none') AS comparable_scope,
        k.latency_s,
        k.energy_j,
        k.energy_j / NULLIF(k.run.batch, 0) AS sample_j,
        k.energy_j / NULLIF(k.latency_s, 0e0) AS average_power_w,
        COALESCE(k.energy_j / NULLIF(k.run.batch, 0), 1e300) AS comparable_j,
        m.peak_memory_byte + m.reserve_fraction * h.dram_byte AS peak_memory_byte,
        occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits_device,
        p.price_usd_per_hour,
        p.price_basis,
        p.price_kind,
        COALESCE(p.price_usd_per_hour, 1e300) AS comparable_usd_per_hour,
        p.price_usd_per_hour / 3600e0 * k.latency_s / NULLIF(k.run.batch, 0) * 1e6 AS million_inference_usd,
        COALESCE(p.price_usd_per_hour / 3600e0 * k.latency_s / NULLIF(k.run.batch, 0) * 1e6, 1e300) AS comparable_usd,
        LN(GREATEST(k.latency_s, 1e-300)) + LN(GREATEST(COALESCE(k.energy_j / NULLIF(k.run.batch, 0), 1e300), 1e-300))
        + LN(GREATEST(m.peak_memory_byte + m.reserve_fraction * h.dram_byte, 1e-300))
        + LN(GREATEST(COALESCE(p.price_usd_per_hour / 3600e0 * k.latency_s / NULLIF(k.run.batch, 0) * 1e6, 1e300), 1e-300))
        AS together,
        g.assumed_count + g.price_count AS assumed_count
    FROM run_cost AS k
    INNER JOIN run_memory AS m ON m.run = k.run
    INNER JOIN part AS h ON h.hardware = k.hardware
    LEFT JOIN part_context AS x ON x.hardware = k.hardware AND x.backend = k.run.backend
    LEFT JOIN part_price AS p ON p.hardware = k.hardware
    INNER JOIN assumed_input AS g ON g.hardware = k.hardware AND g.backend = k.run.backend AND g.precision = k.run.precision
    WHERE k.device_count = 1
),

-- These two windows pass only filters on the model, so that choices are evaluated once. A filter on fields of `run` does not reach
-- the scans through a common table that is read with different filters.
numbered_choices AS (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY model ORDER BY hardware, scenario_id) AS choice_number
    FROM (SELECT run.model, run.scenario_id, * FROM choices) AS c
),

shown_choices AS (
    SELECT *, COUNT(*) OVER (PARTITION BY model) AS choice_count
    FROM (SELECT run.model, run.backend, run.precision, run.batch, run.sequence, run.scenario_id, * FROM choices) AS c
),

-- A gain below 1 % adds no choice to the front: nobody buys another part for 0.2 MiB. The product orders choices, so that dominance
-- has no cycles. Choices within 1e-9 are equal; of equally fast choices the first by part and scenario is named.
losers AS (
    SELECT
        a.run.model AS model,
        a.run,
        a.hardware,
        COUNT(*) AS dominated_by_count,
        MIN(b.average_power_w) AS dominating_power_w,
        MIN_BY(
            CONCAT(b.hardware, ' ', b.run.backend, ' ', b.run.precision, ' batch ', CAST(b.run.batch AS VARCHAR)),
            ROUND(LN(b.latency_s) * 1e8) * 1e5 + b.choice_number
        ) AS dominated_by
    FROM choices AS a
    INNER JOIN numbered_choices AS b
        ON b.model = a.run.model AND b.run.sequence = a.run.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.comparable_scope = a.comparable_scope AND b.latency_s <= a.latency_s * 1.01e0
        AND b.comparable_j <= a.comparable_j * 1.01e0 AND b.peak_memory_byte <= a.peak_memory_byte * 1.01e0
        AND b.comparable_usd <= a.comparable_usd * 1.01e0 AND b.comparable_usd_per_hour <= a.comparable_usd_per_hour * 1.01e0
    WHERE
        b.fits_device
        AND (NOT b.is_simulated OR a.is_simulated)
        AND b.together < a.together - 1e-9
    GROUP BY a.run.model, a.run, a.hardware
)

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
    c.memory_format,
    -- Power mode, a limit such as `150w`, or `default`.
    c.power,
    c.is_simulated,
    c.latency_s,
    -- Samples per second. [1/s]
    c.batch / NULLIF(c.latency_s, 0e0) AS throughput_per_s,
    -- Energy of one sample; null when a coefficient is missing. [J]
    c.sample_j,
    -- Average power: energy divided by time. [W]
    c.average_power_w,
    -- Energy-delay product of a run. [J s]
    c.energy_j * c.latency_s AS edp_js,
    -- Peak memory of the run plus the memory that the backend leaves free. [byte]
    c.peak_memory_byte,
    -- True if the run fits the part's main memory.
    c.fits_device,
    c.price_usd_per_hour,
    -- Confidence in the price, and the month of the price; null without a price.
    c.price_basis,
    c.price_kind,
    -- Price of a million samples; null when unknown. [USD]
    c.million_inference_usd,
    c.energy_scope,
    c.energy_basis,
    -- Number of choices that dominate this choice.
    COALESCE(x.dominated_by_count, 0) AS dominated_by_count,
    -- Lowest average power of the dominating choices; a power limit below it excludes them all. [W]
    x.dominating_power_w,
    -- Fastest of the dominating choices, as `part backend precision batch`; null on the Pareto front.
    x.dominated_by,
    -- Number of assumed catalog inputs, prices included (`assumed_input`).
    c.assumed_count
FROM shown_choices AS c
LEFT JOIN losers AS x ON x.model = c.model AND x.run = c.run AND x.hardware = c.hardware
