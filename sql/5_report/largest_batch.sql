-- Largest batch of a model that fits a part's main memory, all other conditions of the scenario kept.
-- Without rounding to blocks the memory at each kernel is affine in the batch, so the limit has a closed
-- form; with every block rounded up by its most it gives a lower limit. The few batches between are
-- evaluated with their true rounding, and the largest that fits is the answer.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW largest_batch (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Batch of the scenario itself.
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
    -- Main memory of the part. [byte]
    device_byte,
    -- Memory the weights take at any batch. [byte]
    fixed_byte,
    -- Memory each further sample takes at the kernel that sets the limit. [byte]
    sample_byte,
    -- Largest batch that fits; 0 when none does, null when memory does not grow with the batch.
    largest_batch,
    -- Peak memory at that batch. [byte]
    peak_memory_byte,
    -- Largest batch whose weights and activations together stay in the last-level cache, every block rounded
    -- up by its most; 0 when none does, null when memory does not grow with the batch.
    largest_on_chip_batch,
    -- False when more batches than were evaluated lie between the two limits, so that it may be too small.
    is_exact
) AS
WITH storage_terms AS (
    SELECT
        s.model_id,
        s.scenario_id,
        s.tensor_id,
        s.precision,
        MIN(s.first_subgraph_id) AS first_subgraph_id,
        MIN(s.last_subgraph_id) AS last_subgraph_id,
        SUM(
            CASE
                WHEN t.batch_power = 0
                    THEN
                        t.coefficient * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
                        * p.bits / 8e0
                ELSE 0e0
            END
        ) AS fixed_byte,
        SUM(
            CASE
                WHEN t.batch_power = 1
                    THEN
                        t.coefficient * POWER(r.sequence, t.sequence_power) * POWER(r.context, t.context_power)
                        * p.bits / 8e0
                ELSE 0e0
            END
        ) AS sample_byte,
        MAX(t.batch_power) AS batch_power
    FROM storage_byte AS s
    INNER JOIN run AS r ON r.model_id = s.model_id AND r.scenario_id = s.scenario_id
    INNER JOIN tensor_term AS t ON t.model_id = s.model_id AND t.tensor_id = s.tensor_id
    INNER JOIN precision AS p ON p.precision = s.precision
    GROUP BY s.model_id, s.scenario_id, s.tensor_id, s.precision
),

affine_models AS (
    SELECT model_id, scenario_id
    FROM storage_terms
    GROUP BY model_id, scenario_id
    HAVING MAX(batch_power) <= 1
),

held_at_kernel AS (
    SELECT
        s.model_id,
        s.scenario_id,
        k.subgraph_id,
        SUM(s.fixed_byte) AS fixed_byte,
        SUM(s.sample_byte) AS sample_byte,
        SUM(512e0) AS rounding_byte
    FROM storage_terms AS s
    INNER JOIN run AS r ON r.model_id = s.model_id AND r.scenario_id = s.scenario_id
    INNER JOIN subgraph AS k
        ON k.model_id = s.model_id AND k.backend = r.backend
        AND k.subgraph_id BETWEEN s.first_subgraph_id AND s.last_subgraph_id
    GROUP BY s.model_id, s.scenario_id, k.subgraph_id
),

resident_terms AS (
    SELECT
        s.model_id,
        s.scenario_id,
        s.weight_byte + s.buffer_byte AS weight_byte,
        s.kv_cache_byte / NULLIF(r.batch, 0e0) AS kv_cache_sample_byte,
        1e0 + b.workspace_fraction AS workspace_factor
    FROM resident_byte AS s
    INNER JOIN run AS r ON r.model_id = s.model_id AND r.scenario_id = s.scenario_id
    INNER JOIN model AS m ON m.model_id = s.model_id AND m.is_batch_symbolic
    INNER JOIN affine_models AS a ON a.model_id = s.model_id AND a.scenario_id = s.scenario_id
    INNER JOIN backend AS b ON b.backend = r.backend
),

limits AS (
    SELECT
        t.model_id,
        t.scenario_id,
        t.hardware_id,
        u.dram_byte,
        w.weight_byte,
        w.kv_cache_sample_byte,
        w.workspace_factor,
        MIN(
            FLOOR(
                (u.dram_byte - w.weight_byte - w.workspace_factor * h.fixed_byte)
                / NULLIF(w.workspace_factor * h.sample_byte + w.kv_cache_sample_byte, 0e0)
            )
        ) AS upper_batch,
        MIN(
            FLOOR(
                (u.dram_byte - w.weight_byte - w.workspace_factor * (h.fixed_byte + h.rounding_byte))
                / NULLIF(w.workspace_factor * h.sample_byte + w.kv_cache_sample_byte, 0e0)
            )
        ) AS lower_batch,
        MIN(
            FLOOR(
                (u.cache_byte - w.weight_byte - w.workspace_factor * (h.fixed_byte + h.rounding_byte))
                / NULLIF(w.workspace_factor * h.sample_byte + w.kv_cache_sample_byte, 0e0)
            )
        ) AS on_chip_batch,
        MAX(w.workspace_factor * h.sample_byte + w.kv_cache_sample_byte) AS sample_byte
    FROM target AS t
    INNER JOIN hardware_unit AS u ON u.hardware_id = t.hardware_id
    INNER JOIN resident_terms AS w ON w.model_id = t.model_id AND w.scenario_id = t.scenario_id
    INNER JOIN held_at_kernel AS h ON h.model_id = t.model_id AND h.scenario_id = t.scenario_id
    GROUP BY
        t.model_id, t.scenario_id, t.hardware_id, u.dram_byte, w.weight_byte, w.kv_cache_sample_byte,
        w.workspace_factor
),

steps AS (
    SELECT 0e0 AS step
    UNION ALL
    SELECT 1e0 AS step
    UNION ALL
    SELECT 2e0 AS step
    UNION ALL
    SELECT 3e0 AS step
),

candidates AS (
    SELECT DISTINCT
        l.model_id,
        l.scenario_id,
        GREATEST(l.upper_batch - s.step, l.lower_batch, 0e0) AS candidate
    FROM limits AS l
    CROSS JOIN steps AS s
    UNION
    SELECT model_id, scenario_id, GREATEST(lower_batch, 0e0) AS candidate
    FROM limits
),

rounded_at_kernel AS (
    SELECT
        c.model_id,
        c.scenario_id,
        c.candidate,
        k.subgraph_id,
        SUM(CEIL((s.fixed_byte + s.sample_byte * c.candidate) / 512e0) * 512e0) AS allocated_byte
    FROM candidates AS c
    INNER JOIN storage_terms AS s ON s.model_id = c.model_id AND s.scenario_id = c.scenario_id
    INNER JOIN run AS r ON r.model_id = c.model_id AND r.scenario_id = c.scenario_id
    INNER JOIN subgraph AS k
        ON k.model_id = s.model_id AND k.backend = r.backend
        AND k.subgraph_id BETWEEN s.first_subgraph_id AND s.last_subgraph_id
    GROUP BY c.model_id, c.scenario_id, c.candidate, k.subgraph_id
),

candidate_peaks AS (
    SELECT model_id, scenario_id, candidate, MAX(allocated_byte) AS allocated_byte
    FROM rounded_at_kernel
    GROUP BY model_id, scenario_id, candidate
),

fitting AS (
    SELECT
        l.model_id,
        l.scenario_id,
        l.hardware_id,
        MAX(p.candidate) AS largest_batch,
        MAX_BY(
            l.weight_byte + l.kv_cache_sample_byte * p.candidate + l.workspace_factor * p.allocated_byte, p.candidate
        ) AS peak_memory_byte
    FROM limits AS l
    INNER JOIN candidate_peaks AS p
        ON p.model_id = l.model_id AND p.scenario_id = l.scenario_id
        AND p.candidate BETWEEN l.lower_batch AND l.upper_batch
    WHERE
        l.weight_byte + l.kv_cache_sample_byte * p.candidate + l.workspace_factor * p.allocated_byte <= l.dram_byte
        AND p.candidate >= 1e0
    GROUP BY l.model_id, l.scenario_id, l.hardware_id
)

SELECT
    n.model,
    l.hardware_id AS hardware,
    n.backend,
    n.precision,
    n.batch,
    n.sequence,
    n.context,
    n.phase,
    l.model_id,
    l.scenario_id,
    l.hardware_id,
    l.dram_byte AS device_byte,
    l.weight_byte AS fixed_byte,
    l.sample_byte,
    CASE WHEN l.upper_batch IS NULL THEN NULL ELSE CAST(ROUND(COALESCE(f.largest_batch, 0e0)) AS BIGINT) END
        AS largest_batch,
    f.peak_memory_byte,
    CAST(ROUND(GREATEST(l.on_chip_batch, 0e0)) AS BIGINT) AS largest_on_chip_batch,
    l.upper_batch - l.lower_batch <= 4e0 OR COALESCE(f.largest_batch, 0e0) >= l.upper_batch - 3e0 AS is_exact
FROM limits AS l
INNER JOIN run_label AS n ON n.model_id = l.model_id AND n.scenario_id = l.scenario_id
LEFT JOIN fitting AS f
    ON f.model_id = l.model_id AND f.scenario_id = l.scenario_id AND f.hardware_id = l.hardware_id
