-- Every step of every shape that is no product, on the vector units, spread in blocks of threads: a partly filled last block
-- costs a whole one, so that more threads never take less time. Columns as in `tile_step`; no tile is cut.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware, step_id
CREATE VIEW vector_step AS
WITH blocked_steps AS (
    SELECT
        s.*,
        r.hardware,
        r.unit_count,
        r.block_threads,
        COALESCE(r.vector_precision, r.matrix_precision) AS executed_precision,
        COALESCE(r.vector_ops_per_s, r.matrix_ops_per_s) AS peak_ops_per_s,
        r.vector_op_j,
        GREATEST(1e0, CEIL(s.threads / NULLIF(r.block_threads, 0e0))) AS block_count
    FROM shape_step AS s
    INNER JOIN part_rate AS r ON r.backend = s.backend AND r.compute_precision = s.compute_precision
    WHERE NOT s.is_product AND (s.query_count IS NULL OR NOT r.cuts_queries)
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
    step_id,
    is_product,
    product_count,
    -- Null: no candidates.
    CAST(NULL AS BIGINT) AS candidate,
    -- True on matrix units, false on vector units.
    FALSE AS is_matrix,
    -- Element type the unit computes in.
    executed_precision,
    -- Tiling strategy; null: no tile is cut.
    CAST(NULL AS VARCHAR) AS strategy,
    unit_count AS tile_unit_count,
    -- Peak of all units together. [ops/s]
    peak_ops_per_s,
    -- Peak of one unit. [ops/s]
    peak_ops_per_s / NULLIF(unit_count, 0e0) AS unit_ops_per_s,
    vector_op_j AS op_j,
    flops,
    -- Rows of the tile; null: no tile is cut.
    CAST(NULL AS DOUBLE) AS tile_m,
    -- Columns of the tile; null: no tile is cut.
    CAST(NULL AS DOUBLE) AS tile_n,
    -- Depth of the tile; null: no tile is cut.
    CAST(NULL AS DOUBLE) AS tile_k,
    -- Blocks of threads.
    block_count AS tile_count,
    -- Rounds in which all blocks are done.
    CEIL(block_count / NULLIF(unit_count, 0e0)) AS waves,
    -- Share of the time in which the pipeline is full.
    1e0 AS pipelining_fraction,
    -- Units that get work.
    LEAST(block_count, unit_count) AS units_allocated,
    -- Bytes loaded again for every tile. [byte]
    0e0 AS reload_byte,
    -- Bytes a tile keeps next to its unit. [byte]
    0e0 AS tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    GREATEST(
        CEIL(block_count / NULLIF(unit_count, 0e0)) * flops * LEAST(1e0, block_threads / GREATEST(threads, 1e0)) * unit_count
        / NULLIF(peak_ops_per_s, 0e0),
        flops / NULLIF(peak_ops_per_s, 0e0)
    ) AS ideal_s
FROM blocked_steps
