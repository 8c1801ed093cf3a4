-- Time and traffic of the products of a shape with each candidate tile, in the columns that decide between tiles. A kernel runs all
-- its products with one candidate, so only candidates that fit every product have rows.
-- Grain: run, shape_id, hardware, candidate
CREATE VIEW tile_time AS
SELECT
    run,
    shape_id,
    hardware,
    candidate,
    -- Time of the products on the matrix units at full efficiency. [s]
    SUM(CASE WHEN is_matrix THEN ideal_s ELSE 0e0 END) AS matrix_ideal_s,
    -- Time of the products on the vector units at full efficiency. [s]
    SUM(CASE WHEN is_matrix THEN 0e0 ELSE ideal_s END) AS direct_ideal_s,
    -- Time of an operation on a matrix unit, summed over the products. [s]
    SUM(CASE WHEN is_matrix AND flops > 0e0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS matrix_op_s,
    -- Time of an operation on a vector unit, for the slowest product. [s]
    MAX(CASE WHEN NOT is_matrix AND flops > 0e0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS direct_op_s,
    -- Time of the products at the matrix units' peak. [s]
    SUM(CASE WHEN is_matrix THEN flops / NULLIF(peak_ops_per_s, 0e0) ELSE 0e0 END) AS matrix_naive_s,
    -- Time of the products at the vector units' peak. [s]
    SUM(CASE WHEN is_matrix THEN 0e0 ELSE flops / NULLIF(peak_ops_per_s, 0e0) END) AS direct_naive_s,
    -- Energy of the products; null when a coefficient is missing. [J]
    SUM(flops * op_j) + CASE WHEN COUNT(*) > COUNT(op_j) THEN NULL ELSE 0e0 END AS product_energy_j,
    -- Bytes that the tiles load from the memories next to the units, or from the last-level cache of a part without these. [byte]
    SUM(reload_byte) AS reload_byte,
    -- Time to load `reload_byte`. [s]
    SUM(reload_s) AS reload_s,
    -- Bytes that units fetch from a memory shared by all units into their own. [byte]
    SUM(fetch_byte) AS fetch_byte,
    -- Bytes that stream from the tile memory to the arithmetic. [byte]
    SUM(stream_byte) AS stream_byte,
    -- Time to stream `stream_byte`. [s]
    SUM(stream_s) AS stream_s,
    -- Number of units that get work.
    MAX(units_allocated) AS units_allocated
FROM tile_step
WHERE product_count > 0
GROUP BY run, shape_id, hardware, candidate
HAVING SUM(CASE WHEN is_product THEN 1 ELSE 0 END) = MAX(product_count)
