-- Largest batch of a model that fits a part's main memory under the other conditions of the scenario: a few batches between the
-- bounds of `batch_limit` are evaluated with storages rounded to blocks, and the largest that fits is reported.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW largest_batch AS
WITH limits AS (
    SELECT * FROM batch_limit
),

steps_down AS (
    -- The last row leads to the lower bound.
    SELECT * FROM (VALUES (0e0), (1e0), (2e0), (3e0), (1e18)) AS s (step_down)
),

tried_batches AS (
    SELECT DISTINCT
        l.*,
        GREATEST(l.upper_batch - s.step_down, l.lower_batch) AS tried_batch
    FROM limits AS l
    CROSS JOIN steps_down AS s
),

rounded_kernels AS (
    SELECT
        t.run,
        t.hardware,
        t.tried_batch,
        h.kernel_id,
        MAX(t.dram_byte - t.context_byte) AS left_byte,
        MAX(t.resident_byte + t.kv_cache_sample_byte * t.tried_batch) AS held_byte,
        MAX(t.workspace_factor) AS workspace_factor,
        SUM(
            h.storage_count * CEIL((h.fixed_byte + h.sample_byte * t.tried_batch) / NULLIF(t.block_byte, 0e0)) * t.block_byte
        ) AS allocated_byte
    FROM tried_batches AS t
    INNER JOIN held_term AS h ON h.run = t.run
    WHERE t.tried_batch >= 1e0 AND t.tried_batch <= t.upper_batch
    GROUP BY t.run, t.hardware, t.tried_batch, h.kernel_id
),

tried_peaks AS (
    SELECT
        run,
        hardware,
        tried_batch,
        MAX(left_byte) AS left_byte,
        MAX(held_byte + workspace_factor * allocated_byte) AS peak_memory_byte
    FROM rounded_kernels
    GROUP BY run, hardware, tried_batch
),

fitting_batches AS (
    SELECT
        run,
        hardware,
        MAX(tried_batch) AS largest_batch,
        MAX(peak_memory_byte) AS peak_memory_byte
    FROM tried_peaks
    WHERE peak_memory_byte <= left_byte
    GROUP BY run, hardware
)

SELECT
    l.run.model,
    l.hardware,
    l.run.backend,
    l.run.precision,
    l.run.batch,
    l.run.sequence,
    l.run.scenario_id,
    r.context,
    r.phase,
    -- Capacity of the part's main memory. [byte]
    l.dram_byte AS device_byte,
    l.context_byte,
    -- Memory that is independent of the batch, such as weights. [byte]
    l.resident_byte AS fixed_byte,
    -- Memory that each further sample adds at the kernel that limits the batch. [byte]
    l.grown_byte AS sample_byte,
    -- Largest batch that fits; 0 if not even one sample fits, null if memory does not grow with the batch.
    CASE WHEN l.upper_batch IS NOT NULL THEN CAST(ROUND(COALESCE(f.largest_batch, 0e0)) AS BIGINT) END AS largest_batch,
    -- Peak memory at `largest_batch`. [byte]
    f.peak_memory_byte AS largest_batch_byte,
    -- Largest batch whose weights and activations together stay in the last-level cache, with every block rounded up; 0 if not even
    -- one sample fits, null if memory does not grow with the batch.
    CASE WHEN l.upper_batch IS NOT NULL THEN CAST(ROUND(l.on_chip_batch) AS BIGINT) END AS largest_on_chip_batch,
    -- False if some batches between the bounds were not evaluated, so that `largest_batch` may be too small.
    l.upper_batch - l.lower_batch <= 4e0 OR COALESCE(f.largest_batch, 0e0) >= l.upper_batch - 3e0 AS is_exact
FROM limits AS l
INNER JOIN run AS r ON r.run = l.run
LEFT JOIN fitting_batches AS f ON f.run = l.run AND f.hardware = l.hardware
