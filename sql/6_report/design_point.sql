-- Every part as a point of a design space: all models of the file, or of the question, run once one after another under a
-- scenario, and what limits them. `charz explore` asks it of parts that do not exist.
-- Grain: hardware, backend, precision, batch, scenario_id
CREATE VIEW design_point AS
WITH summed_paces AS (
    SELECT hardware, backend, precision, batch, scenario_id, pace, SUM(pace_s) AS pace_s
    FROM busy_pace
    GROUP BY hardware, backend, precision, batch, scenario_id, pace
),

longest_paces AS (
    SELECT
        hardware,
        backend,
        precision,
        batch,
        scenario_id,
        MAX_BY(pace, pace_s) AS limited_by,
        MAX(pace_s) AS longest_s
    FROM summed_paces
    GROUP BY hardware, backend, precision, batch, scenario_id
),

summed_runs AS (
    SELECT
        hardware,
        backend,
        precision,
        batch,
        scenario_id,
        CASE WHEN COUNT(latency_s) = COUNT(*) THEN SUM(latency_s) END AS latency_s,
        SUM(overhead_s) AS overhead_s,
        CASE WHEN COUNT(energy_j) = COUNT(*) THEN SUM(energy_j) END AS energy_j,
        MAX(peak_memory_byte) AS peak_memory_byte,
        BOOL_AND(fits_device) AS fits_device
    FROM target_cost
    GROUP BY hardware, backend, precision, batch, scenario_id
)

SELECT
    r.hardware,
    r.backend,
    r.precision,
    r.batch,
    r.scenario_id,
    -- Time of all runs; null where a model has none. [s]
    r.latency_s,
    -- Energy of all runs; null where that of a model is not known. [J]
    r.energy_j,
    -- Energy times time. [J s]
    r.energy_j * r.latency_s AS edp_js,
    -- Energy over time. [W]
    r.energy_j / NULLIF(r.latency_s, 0e0) AS average_power_w,
    -- What sets the pace for the largest part of the time: as in `busy_pace`, or `overhead` where the device waits longer.
    CASE WHEN r.overhead_s >= p.longest_s THEN 'overhead' WHEN r.latency_s IS NOT NULL THEN p.limited_by END AS limited_by,
    -- That part of the time.
    GREATEST(r.overhead_s, p.longest_s) / NULLIF(r.latency_s, 0e0) AS limited_fraction,
    -- Most memory that a model takes. [byte]
    r.peak_memory_byte,
    -- True when every model fits the part's main memory.
    r.fits_device
FROM summed_runs AS r
LEFT JOIN longest_paces AS p
    ON p.hardware = r.hardware AND p.backend = r.backend AND p.precision = r.precision AND p.batch = r.batch
    AND p.scenario_id = r.scenario_id
