-- Changes that would improve a target: every other scenario or part that differs in one setting and needs less time or energy per
-- sample, with the predicted savings. `trade` lists losses; savings exclude losses.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kind, change
CREATE VIEW opportunity AS
-- Every target is joined to all targets of the model and sizes, itself included, so that costs are evaluated once.
WITH targets AS (
    SELECT r.*, t.hardware
    FROM run AS r
    INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
),

counted_pairs AS (
    SELECT
        a.run, a.hardware, CASE
            WHEN b.hardware <> a.hardware THEN 'part'
            WHEN b.batch <> a.run.batch THEN 'batch'
            WHEN b.precision <> a.run.precision THEN 'precision'
            WHEN b.backend <> a.run.backend THEN 'backend'
            WHEN b.memory_format <> a.memory_format THEN 'memory_format'
            WHEN b.cache_state <> a.cache_state THEN 'cache'
            WHEN b.power <> a.power THEN 'power'
            WHEN b.scenario_id = a.run.scenario_id THEN 'none'
        END AS kind,
        CASE
            WHEN b.hardware <> a.hardware THEN b.hardware
            WHEN b.batch <> a.run.batch THEN CONCAT('batch ', CAST(b.batch AS VARCHAR))
            WHEN b.precision <> a.run.precision THEN b.precision
            WHEN b.backend <> a.run.backend THEN b.backend
            WHEN b.memory_format <> a.memory_format THEN b.memory_format
            WHEN b.cache_state <> a.cache_state THEN b.cache_state
            ELSE b.power
        END AS change,
        b.is_simulated,
        b.energy_scope,
        b.fits_device,
        b.latency_s,
        b.sample_s,
        b.sample_j,
        b.sample_usd,
        b.peak_memory_byte
    FROM targets AS a
    INNER JOIN target_cost AS b
        ON b.model = a.run.model AND b.sequence = a.run.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.host_factor = a.host_factor AND b.kv_precision = a.kv_precision AND b.device_count = a.device_count
        AND b.weight_host_fraction = a.weight_host_fraction AND b.cache_host_fraction = a.cache_host_fraction
        AND b.input_host_fraction = a.input_host_fraction
    WHERE
        CASE WHEN b.hardware <> a.hardware THEN 1 ELSE 0 END
        + CASE WHEN b.batch <> a.run.batch THEN 1 ELSE 0 END
        + CASE WHEN b.precision <> a.run.precision THEN 1 ELSE 0 END
        + CASE WHEN b.backend <> a.run.backend THEN 1 ELSE 0 END
        + CASE WHEN b.memory_format <> a.memory_format THEN 1 ELSE 0 END
        + CASE WHEN b.cache_state <> a.cache_state THEN 1 ELSE 0 END
        + CASE WHEN b.power <> a.power THEN 1 ELSE 0 END <= 1
),

-- Columns `now_` contain costs of the unchanged target.
compared_pairs AS (
    SELECT
        *,
        MAX(CASE WHEN kind = 'none' THEN energy_scope END) OVER same_target AS now_scope,
        MAX(CASE WHEN kind = 'none' THEN latency_s END) OVER same_target AS now_latency_s,
        MAX(CASE WHEN kind = 'none' THEN sample_s END) OVER same_target AS now_s,
        MAX(CASE WHEN kind = 'none' THEN sample_j END) OVER same_target AS now_j,
        MAX(CASE WHEN kind = 'none' THEN sample_usd END) OVER same_target AS now_usd,
        MAX(CASE WHEN kind = 'none' THEN peak_memory_byte END) OVER same_target AS now_byte
    FROM counted_pairs
    WINDOW same_target AS (PARTITION BY run, hardware)
),

-- A difference by rounding alone is neither a gain nor a loss.
savings AS (
    SELECT
        *,
        CASE WHEN ABS(now_s - sample_s) <= 1e-9 * now_s THEN 0e0 ELSE now_s - sample_s END AS saved_s,
        CASE
            WHEN energy_scope = now_scope
                THEN CASE WHEN ABS(now_j - sample_j) <= 1e-9 * now_j THEN 0e0 ELSE now_j - sample_j END
        END AS saved_j,
        now_byte - peak_memory_byte AS saved_memory_byte,
        (now_usd - sample_usd) * 1e6 AS saved_million_usd,
        CASE
            WHEN ABS(now_latency_s - latency_s) <= 1e-9 * now_latency_s THEN 0e0 ELSE now_latency_s - latency_s
        END AS saved_latency_s
    FROM compared_pairs
    WHERE kind <> 'none' AND fits_device
),

-- Relative loss; null without a loss.
trades AS (
    SELECT
        *,
        CASE WHEN saved_s < 0e0 THEN -saved_s / NULLIF(now_s, 0e0) END AS longer_fraction,
        CASE WHEN saved_j < 0e0 THEN -saved_j / NULLIF(now_j, 0e0) END AS more_energy_fraction,
        CASE WHEN saved_memory_byte < 0e0 THEN -saved_memory_byte / NULLIF(now_byte, 0e0) END AS more_memory_fraction,
        CASE WHEN saved_million_usd < 0e0 THEN -saved_million_usd / NULLIF(now_usd * 1e6, 0e0) END AS dearer_fraction
    FROM savings
)

SELECT
    p.run.model,
    p.hardware,
    p.run.backend,
    p.run.precision,
    p.run.batch,
    p.run.sequence,
    p.run.scenario_id,
    -- Setting that changes: `batch`, `precision`, `backend`, `memory_format`, `cache`, `power` or `part`.
    p.kind,
    -- New value of the setting, e.g. `batch 64`.
    p.change,
    -- True if the other part has no silicon.
    p.is_simulated,
    -- Time of one sample before the change. [s]
    p.now_s AS sample_s,
    -- Time saved per sample; 0 if the change makes the run slower. [s]
    CASE WHEN p.longer_fraction IS NULL THEN p.saved_s ELSE 0e0 END AS saved_s,
    -- Share of the sample's time that the change saves.
    CASE WHEN p.longer_fraction IS NULL THEN p.saved_s ELSE 0e0 END / NULLIF(p.now_s, 0e0) AS saved_time_fraction,
    -- Energy saved per sample; 0 if the change needs more energy, null when a coefficient is missing or scopes differ. [J]
    CASE WHEN p.more_energy_fraction IS NULL THEN p.saved_j ELSE 0e0 END AS saved_j,
    -- Share of the sample's energy that the change saves.
    CASE WHEN p.more_energy_fraction IS NULL THEN p.saved_j ELSE 0e0 END / NULLIF(p.now_j, 0e0) AS saved_energy_fraction,
    -- Peak memory saved; 0 if the change needs more memory. [byte]
    CASE WHEN p.more_memory_fraction IS NULL THEN p.saved_memory_byte ELSE 0e0 END AS saved_memory_byte,
    -- Price saved per million samples; 0 if the change costs more, null when unknown. [USD]
    CASE WHEN p.dearer_fraction IS NULL THEN p.saved_million_usd ELSE 0e0 END AS saved_million_usd,
    -- Latency saved per run; negative if the change increases latency. [s]
    p.saved_latency_s,
    -- Disadvantages of the change in words: a check that the change needs, and all losses relative to the unchanged target.
    COALESCE(NULLIF(CONCAT_WS(
        ', ',
        CASE
            WHEN p.kind = 'batch' AND p.saved_latency_s < 0e0 THEN 'each result waits for the whole batch'
            WHEN p.kind = 'precision' THEN 'accuracy must be checked'
            WHEN p.kind = 'backend' THEN 'the model must compile for it or be captured as a graph'
            WHEN p.kind = 'cache' THEN 'nothing else may use the cache'
            WHEN p.kind = 'part' AND p.is_simulated THEN 'simulated part: no silicon exists'
        END,
        lost_share('longer', p.longer_fraction),
        lost_share('more energy', p.more_energy_fraction),
        lost_share('more memory', p.more_memory_fraction),
        lost_share('dearer', p.dearer_fraction)
    ), ''), 'none known') AS trade
FROM trades AS p
WHERE p.saved_s > 0e0 OR p.saved_j > 0e0
