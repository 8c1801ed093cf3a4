-- What would help: every other scenario or part that differs from a target in one thing and is better a
-- sample in time or energy, with the amount saved and what it costs elsewhere. Positive `saved` columns are
-- gains, negative ones the trade.
-- Grain: model_id, scenario_id, hardware_id, kind, change
CREATE VIEW opportunity (
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
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- What is changed: `batch`, `precision`, `backend`, `memory_format` or `part`.
    kind,
    -- What to, e.g. `batch 64`.
    change,
    -- True when the other part has no silicon.
    is_simulated,
    -- Time of a sample now. [s]
    sample_s,
    -- Time of a sample saved. [s]
    saved_s,
    -- Share of the time saved.
    saved_time_fraction,
    -- Energy of a sample saved; null when a coefficient is missing or the two are of different scopes. [J]
    saved_j,
    -- Share of the energy saved.
    saved_energy_fraction,
    -- Peak memory saved. [byte]
    saved_memory_byte,
    -- Rent of a million samples saved; null when unknown. [USD]
    saved_million_usd,
    -- Time until a result that is gained; negative when a result takes longer. [s]
    saved_latency_s,
    -- The trade in words.
    trade
) AS
WITH energy_scopes AS (
    SELECT hardware_id, MIN(scope) AS energy_scope
    FROM energy_profile
    GROUP BY hardware_id
),

costs AS (
    SELECT c.*, s.energy_scope
    FROM target_cost AS c
    LEFT JOIN energy_scopes AS s ON s.hardware_id = c.hardware_id
),

pairs AS (
    SELECT
        a.model_id,
        a.scenario_id,
        a.hardware_id,
        CASE
            WHEN b.hardware_id <> a.hardware_id THEN 'part'
            WHEN b.batch <> a.batch THEN 'batch'
            WHEN b.policy <> a.policy THEN 'precision'
            WHEN b.backend <> a.backend THEN 'backend'
            ELSE 'memory_format'
        END AS kind,
        CASE
            WHEN b.hardware_id <> a.hardware_id THEN b.hardware_id
            WHEN b.batch <> a.batch THEN CONCAT('batch ', CAST(CAST(ROUND(b.batch) AS BIGINT) AS VARCHAR))
            WHEN b.policy <> a.policy THEN b.policy
            WHEN b.backend <> a.backend THEN b.backend
            ELSE b.memory_format
        END AS change,
        b.is_simulated,
        a.sample_s,
        a.sample_j,
        a.sample_s - b.sample_s AS saved_s,
        CASE WHEN a.energy_scope = b.energy_scope THEN a.sample_j - b.sample_j END AS saved_j,
        a.peak_memory_byte - b.peak_memory_byte AS saved_memory_byte,
        (a.sample_usd - b.sample_usd) * 1e6 AS saved_million_usd,
        a.latency_s - b.latency_s AS saved_latency_s
    FROM costs AS a
    INNER JOIN costs AS b
        ON b.model_id = a.model_id
        AND b.sequence = a.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.host_factor = a.host_factor AND b.is_cache_warm = a.is_cache_warm
    WHERE
        CASE WHEN b.hardware_id <> a.hardware_id THEN 1 ELSE 0 END
        + CASE WHEN b.batch <> a.batch THEN 1 ELSE 0 END
        + CASE WHEN b.policy <> a.policy THEN 1 ELSE 0 END
        + CASE WHEN b.backend <> a.backend THEN 1 ELSE 0 END
        + CASE WHEN b.memory_format <> a.memory_format THEN 1 ELSE 0 END = 1
        AND b.fits_device
        AND (b.sample_s < a.sample_s OR (a.energy_scope = b.energy_scope AND b.sample_j < a.sample_j))
)

SELECT
    l.model,
    p.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    p.model_id,
    p.scenario_id,
    p.hardware_id,
    p.kind,
    p.change,
    p.is_simulated,
    p.sample_s,
    p.saved_s,
    p.saved_s / NULLIF(p.sample_s, 0e0) AS saved_time_fraction,
    p.saved_j,
    p.saved_j / NULLIF(p.sample_j, 0e0) AS saved_energy_fraction,
    p.saved_memory_byte,
    p.saved_million_usd,
    p.saved_latency_s,
    CASE
        WHEN p.kind = 'batch' AND p.saved_latency_s < 0e0 THEN 'each result waits for the whole batch'
        WHEN p.kind = 'precision' THEN 'accuracy must be checked'
        WHEN p.kind = 'backend' THEN 'the model must compile for it'
        WHEN p.kind = 'part' AND p.is_simulated THEN 'simulated part: no silicon exists'
        WHEN p.kind = 'part' AND p.saved_million_usd < 0e0 THEN 'costs more'
        WHEN p.saved_s < 0e0 THEN 'takes longer'
        WHEN p.saved_memory_byte < 0e0 THEN 'needs more memory'
        WHEN p.saved_j < 0e0 THEN 'takes more energy'
        ELSE 'none known'
    END AS trade
FROM pairs AS p
INNER JOIN run_label AS l ON l.model_id = p.model_id AND l.scenario_id = p.scenario_id
