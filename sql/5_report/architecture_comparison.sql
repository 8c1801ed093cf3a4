-- Two parts side by side on the same model, sizes and precision, and the reason: which term of the time makes
-- most of the difference. Filter on hardware and other_hardware; all pairs are many.
-- Grain: model, hardware, other_hardware, precision, batch, sequence, context, phase, scenario_id, other_scenario_id
CREATE VIEW architecture_comparison (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Part it is compared with.
    other_hardware,
    -- Backend on the part.
    backend,
    -- Backend on the other.
    other_backend,
    -- Precision policy of both.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Model.
    model_id,
    -- Scenario on the part.
    scenario_id,
    -- Scenario on the other.
    other_scenario_id,
    -- Time on the part. [s]
    latency_s,
    -- Time on the other. [s]
    other_s,
    -- Time on the other over time on the part: above 1, the part is faster.
    speedup,
    -- What arithmetic adds to the other's time. [s]
    compute_more_s,
    -- What memory adds to the other's time. [s]
    memory_more_s,
    -- What the power limit adds to the other's time. [s]
    power_more_s,
    -- What teams of threads that begin and end add to the other's time. [s]
    team_more_s,
    -- What dispatch and gaps add to the other's time. [s]
    overhead_more_s,
    -- Term that makes most of the difference: `compute`, `memory`, `power`, `threads` or `overhead`.
    reason,
    -- Share of the units' peak that shapes and waves leave on the part.
    utilization_fraction,
    -- The same on the other.
    other_utilization_fraction,
    -- Energy on the part; null when a coefficient is missing. [J]
    energy_j,
    -- Energy on the other; null when a coefficient is missing. [J]
    other_j,
    -- Energy times time on the part. [J s]
    edp_js,
    -- Energy times time on the other. [J s]
    other_js,
    -- True when their energies are of one scope; else they do not compare.
    is_energy_comparable,
    -- True when one of the two has no silicon.
    is_simulated,
    -- The comparison in words.
    sentence,
    -- Assumed inputs of the catalog that the part's side rests on; see `assumed_input`.
    assumed_count,
    -- The same of the other.
    other_assumed_count
) AS
WITH paired_targets AS (
    SELECT
        a.model,
        a.hardware,
        b.hardware AS other_hardware,
        a.backend,
        b.backend AS other_backend,
        a.precision,
        a.batch,
        a.sequence,
        a.context,
        a.phase,
        a.model_id,
        a.scenario_id,
        b.scenario_id AS other_scenario_id,
        a.latency_s,
        b.latency_s AS other_s,
        b.latency_s / NULLIF(a.latency_s, 0e0) AS speedup,
        b.compute_s - a.compute_s AS compute_more_s,
        b.memory_s - a.memory_s AS memory_more_s,
        b.power_s - a.power_s AS power_more_s,
        b.team_s - a.team_s AS team_more_s,
        b.overhead_s - a.overhead_s AS overhead_more_s,
        CASE WHEN b.latency_s >= a.latency_s THEN 1e0 ELSE -1e0 END AS direction,
        a.utilization_fraction,
        b.utilization_fraction AS other_utilization_fraction,
        a.energy_j,
        b.energy_j AS other_j,
        a.edp_js,
        b.edp_js AS other_js,
        a.energy_scope = b.energy_scope AS is_energy_comparable,
        a.is_simulated OR b.is_simulated AS is_simulated,
        a.assumed_count,
        b.assumed_count AS other_assumed_count
    FROM model_report AS a
    INNER JOIN model_report AS b
        ON b.model_id = a.model_id AND b.hardware <> a.hardware AND b.precision = a.precision
        AND b.batch = a.batch AND b.sequence = a.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.memory_format = a.memory_format
),

reasoned_pairs AS (
    SELECT
        *,
        CASE direction * GREATEST(
            direction * compute_more_s, direction * memory_more_s, direction * power_more_s, direction * team_more_s,
            direction * overhead_more_s
        )
            WHEN compute_more_s THEN 'compute'
            WHEN memory_more_s THEN 'memory'
            WHEN power_more_s THEN 'power'
            WHEN team_more_s THEN 'threads'
            ELSE 'overhead'
        END AS reason
    FROM paired_targets
)

SELECT
    model,
    hardware,
    other_hardware,
    backend,
    other_backend,
    precision,
    batch,
    sequence,
    context,
    phase,
    model_id,
    scenario_id,
    other_scenario_id,
    latency_s,
    other_s,
    speedup,
    compute_more_s,
    memory_more_s,
    power_more_s,
    team_more_s,
    overhead_more_s,
    reason,
    utilization_fraction,
    other_utilization_fraction,
    energy_j,
    other_j,
    edp_js,
    other_js,
    is_energy_comparable,
    is_simulated,
    CONCAT(
        hardware, CASE WHEN speedup >= 1e0 THEN ' is faster than ' ELSE ' is slower than ' END, other_hardware,
        ' by a factor of ',
        CAST(ROUND(CASE WHEN speedup >= 1e0 THEN speedup ELSE 1e0 / NULLIF(speedup, 0e0) END, 2) AS VARCHAR),
        ', mostly in ', reason
    ) AS sentence,
    assumed_count,
    other_assumed_count
FROM reasoned_pairs
