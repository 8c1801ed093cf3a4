-- What the products of a shape take with each candidate tile, on the columns that decide between tiles. A kernel runs all
-- its products with one candidate: one that does not suit them all is out.
-- Grain: run, shape_id, hardware, candidate
CREATE VIEW tile_time AS
SELECT
    run,
    shape_id,
    hardware,
    candidate,
    -- Time of its products on the matrix units at full efficiency. [s]
    SUM(CASE WHEN is_matrix THEN ideal_s ELSE 0e0 END) AS matrix_ideal_s,
    -- Time of its products on the vector units at full efficiency. [s]
    SUM(CASE WHEN is_matrix THEN 0e0 ELSE ideal_s END) AS direct_ideal_s,
    -- Time of an operation on a matrix unit, over all products. [s]
    SUM(CASE WHEN is_matrix AND flops > 0e0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS matrix_op_s,
    -- Time of an operation on a vector unit, of the slowest product. [s]
    MAX(CASE WHEN NOT is_matrix AND flops > 0e0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS direct_op_s,
    -- Time of its products at the matrix units' peak. [s]
    SUM(CASE WHEN is_matrix THEN flops / NULLIF(peak_ops_per_s, 0e0) ELSE 0e0 END) AS matrix_naive_s,
    -- Time of its products at the vector units' peak. [s]
    SUM(CASE WHEN is_matrix THEN 0e0 ELSE flops / NULLIF(peak_ops_per_s, 0e0) END) AS direct_naive_s,
    -- Energy of its products; null when a coefficient is missing. [J]
    SUM(flops * op_j) + CASE WHEN COUNT(*) > COUNT(op_j) THEN NULL ELSE 0e0 END AS product_energy_j,
    -- Bytes the tiles load from the last-level cache. [byte]
    SUM(reload_byte) AS reload_byte,
    -- Time in which they do. [s]
    SUM(reload_s) AS reload_s,
    -- Bytes that stream from the tile memory to the arithmetic. [byte]
    SUM(stream_byte) AS stream_byte,
    -- Time in which they do. [s]
    SUM(stream_s) AS stream_s,
    -- Units that get work.
    MAX(units_allocated) AS units_allocated
FROM tile_step
WHERE product_count > 0
GROUP BY run, shape_id, hardware, candidate
HAVING SUM(CASE WHEN is_product THEN 1 ELSE 0 END) = MAX(product_count)
