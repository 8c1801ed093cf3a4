-- What the steps of a shape that are no products take on the vector units, spread in blocks of threads: a partly filled
-- last block costs a whole one, so that more threads never take less time.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW vector_time AS
WITH rated_steps AS (
    SELECT
        s.*,
        r.hardware,
        r.unit_count,
        r.block_threads,
        COALESCE(r.vector_ops_per_s, r.matrix_ops_per_s) AS peak_ops_per_s,
        r.vector_op_j
    FROM shape_step AS s
    INNER JOIN part_rate AS r ON r.backend = s.backend AND r.compute_precision = s.compute_precision
    WHERE NOT s.is_product AND (s.query_count IS NULL OR NOT r.cuts_queries)
),

blocked_steps AS (
    SELECT
        *,
        GREATEST(1e0, CEIL(threads / NULLIF(block_threads, 0e0))) AS block_count
    FROM rated_steps
),

timed_steps AS (
    SELECT
        *,
        CEIL(block_count / NULLIF(unit_count, 0e0)) * flops * LEAST(1e0, block_threads / GREATEST(threads, 1e0)) * unit_count
        / NULLIF(peak_ops_per_s, 0e0) AS waved_s,
        flops / NULLIF(peak_ops_per_s, 0e0) AS naive_s
    FROM blocked_steps
)

SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    shape_id,
    hardware,
    -- Time of those steps at full efficiency. [s]
    SUM(GREATEST(waved_s, naive_s)) AS vector_ideal_s,
    -- Time of an operation on a vector unit, of the slowest step. [s]
    MAX(CASE WHEN flops > 0e0 THEN unit_count / NULLIF(peak_ops_per_s, 0e0) ELSE 0e0 END) AS vector_op_s,
    -- Time of those steps at the vector units' peak. [s]
    SUM(naive_s) AS vector_naive_s,
    -- Their energy; null when a coefficient is missing. [J]
    SUM(flops * vector_op_j) + CASE WHEN COUNT(*) > COUNT(vector_op_j) THEN NULL ELSE 0e0 END AS vector_energy_j,
    -- Units that get work of the widest step.
    MAX(LEAST(block_count, unit_count)) AS vector_units_allocated
FROM timed_steps
GROUP BY model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
