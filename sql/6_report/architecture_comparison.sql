-- Comparison of two parts on the same model, sizes and precision, with the term of the time that causes most of the difference.
-- Filter on `hardware` and `other_hardware`, because there are many pairs.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, other_hardware, other_scenario_id
CREATE VIEW architecture_comparison AS
WITH costs AS (
    SELECT
        k.*,
        h.energy_scope,
        h.energy_basis,
        h.is_simulated,
        g.assumed_count
    FROM run_cost AS k
    INNER JOIN part AS h ON h.hardware = k.hardware
    INNER JOIN assumed_input AS g ON g.hardware = k.hardware AND g.backend = k.run.backend AND g.precision = k.run.precision
    WHERE k.device_count = 1
),

-- This window passes only filters that both sides share, so that costs are evaluated once. A filter on fields of `run` does not
-- reach the scans through a common table that is read with different filters.
sides AS (
    SELECT *, COUNT(*) OVER (PARTITION BY model, precision, batch, sequence) AS side_count
    FROM (SELECT run.model, run.backend, run.precision, run.batch, run.sequence, run.scenario_id, * EXCLUDE (run) FROM costs) AS c
),

paired_targets AS (
    SELECT
        a.*,
        b.hardware AS other_hardware,
        b.run.backend AS other_backend,
        b.run.scenario_id AS other_scenario_id,
        b.latency_s AS other_s,
        b.latency_s / NULLIF(a.latency_s, 0e0) AS speedup,
        b.compute_s - a.compute_s AS compute_more_s,
        b.memory_s - a.memory_s AS memory_more_s,
        b.power_s - a.power_s AS power_more_s,
        b.team_s - a.team_s AS team_more_s,
        b.overhead_s - a.overhead_s AS overhead_more_s,
        CASE WHEN b.latency_s >= a.latency_s THEN 1e0 ELSE -1e0 END AS direction,
        b.utilization_fraction AS other_utilization_fraction,
        b.energy_j AS other_j,
        b.energy_j * b.latency_s AS other_js,
        a.energy_scope = b.energy_scope AS is_energy_comparable,
        b.energy_basis AS other_energy_basis,
        a.is_simulated OR b.is_simulated AS is_any_simulated,
        b.assumed_count AS other_assumed_count
    FROM sides AS a
    INNER JOIN costs AS b
        ON b.run.model = a.model AND b.hardware <> a.hardware AND b.run.precision = a.precision AND b.run.batch = a.batch
        AND b.run.sequence = a.sequence AND b.context = a.context AND b.phase = a.phase
        AND b.memory_format = a.memory_format AND b.host_factor = a.host_factor AND b.cache_state = a.cache_state
        AND b.kv_precision = a.kv_precision AND b.device_count = a.device_count
        AND b.weight_host_fraction = a.weight_host_fraction AND b.cache_host_fraction = a.cache_host_fraction
        AND b.input_host_fraction = a.input_host_fraction
        AND b.power = a.power
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
    p.model,
    p.hardware,
    p.backend,
    p.precision,
    p.batch,
    p.sequence,
    p.scenario_id,
    p.context,
    p.phase,
    -- Other part of the comparison.
    p.other_hardware,
    -- Backend on the other part.
    p.other_backend,
    -- Scenario on the other part.
    p.other_scenario_id,
    p.latency_s,
    -- Time on the other part. [s]
    p.other_s,
    -- Ratio of the time on the other part to the time on this part: above 1, this part is faster.
    p.speedup,
    -- Extra time of the other part for arithmetic. [s]
    p.compute_more_s,
    -- Extra time of the other part for memory. [s]
    p.memory_more_s,
    -- Extra time of the other part from its power limit. [s]
    p.power_more_s,
    -- Extra time of the other part to start and join thread teams. [s]
    p.team_more_s,
    -- Extra time of the other part for the call, dispatch and gaps. [s]
    p.overhead_more_s,
    -- Term that causes most of the difference: `compute`, `memory`, `power`, `threads` or `overhead`.
    p.reason,
    -- Share of the units' peak that remains on this part after losses from tile shapes and partial waves.
    p.utilization_fraction,
    -- Share of the units' peak that remains on the other part after losses from tile shapes and partial waves.
    p.other_utilization_fraction,
    p.energy_j,
    -- Energy on the other part; null when a coefficient is missing. [J]
    p.other_j,
    -- Energy-delay product on this part. [J s]
    p.energy_j * p.latency_s AS edp_js,
    -- Energy-delay product on the other part. [J s]
    p.other_js,
    -- True if both energies have the same scope; otherwise they cannot be compared.
    p.is_energy_comparable,
    p.energy_basis,
    -- Confidence in the other part's energies.
    p.other_energy_basis,
    -- True if one of the two parts has no silicon.
    p.is_any_simulated AS is_simulated,
    -- Summary of the comparison in words.
    CONCAT(
        p.hardware, CASE WHEN p.speedup >= 1e0 THEN ' is faster than ' ELSE ' is slower than ' END, p.other_hardware,
        ' by a factor of ',
        CAST(ROUND(CASE WHEN p.speedup >= 1e0 THEN p.speedup ELSE 1e0 / NULLIF(p.speedup, 0e0) END, 2) AS VARCHAR),
        ', mostly in ', p.reason
    ) AS sentence,
    -- Number of assumed catalog inputs that the answer for this part depends on (`assumed_input`).
    p.assumed_count,
    -- Number of assumed catalog inputs that the answer for the other part depends on.
    p.other_assumed_count
FROM reasoned_pairs AS p
