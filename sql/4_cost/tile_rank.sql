-- Time of a shape with each candidate tile at full clock, by the formula of `shape_cost`. A shape without products has one row
-- without a candidate. Times that are equal within rounding are ranked by energy, then by candidate number: shares of both, smaller
-- than any real difference and larger than rounding, are added to the time.
-- Grain: run, shape_id, hardware, candidate
CREATE VIEW tile_rank AS
SELECT
    p.*,
    t.* EXCLUDE (run, shape_id, hardware),
    -- Time of the first memory level; 0 without a first level. [s]
    GREATEST(t.stream_s + p.vector_stream_s, p.passing_s) AS first_level_s,
    -- Time of the arithmetic with the tile. [s]
    GREATEST(
        unit_time(t.matrix_ideal_s, p.matrix_half_ops, t.matrix_op_s, p.matrix_fraction),
        unit_time(
            t.direct_ideal_s + p.vector_ideal_s, p.vector_half_ops, GREATEST(t.direct_op_s, p.vector_op_s), p.vector_fraction
        ),
        t.matrix_naive_s,
        t.direct_naive_s + p.vector_naive_s
    ) AS compute_s,
    -- Time of the slowest memory level with the tile. [s]
    GREATEST(p.untiled_s, t.reload_s, fetch_time(t.fetch_byte, p.cache_byte_per_s), p.staged_load_s, CASE WHEN p.is_staged THEN first_level_s ELSE 0e0 END)
        AS slowest_memory_s,
    -- Energy of the products and of the memories next to the units; null when a coefficient is missing. [J]
    t.product_energy_j
    + reload_energy(
        p.tile_memory_level, p.tile_j_per_byte, p.cache_level, p.cache_j_per_byte, GREATEST(t.reload_byte, p.staged_byte), p.moved_byte
    )
    + fetch_energy(t.fetch_byte, p.moved_byte, p.cache_j_per_byte)
    + level_energy(p.stream_level, GREATEST(t.stream_byte + p.vector_stream_byte, p.passing_byte), p.stream_j_per_byte)
        AS tile_energy_j,
    -- Energy of arithmetic and traffic; null when a coefficient is missing. [J]
    tile_energy_j + p.untiled_energy_j + p.vector_energy_j AS dynamic_energy_j,
    -- Time that the kernel keeps the device busy at full clock. [s]
    busy_time(
        compute_s, slowest_memory_s, CASE WHEN p.is_staged THEN 0e0 ELSE first_level_s END, p.exposed_s, p.overlap_fraction
    ) AS unlimited_s,
    -- Sort key: `unlimited_s` with small shares of energy and candidate number added. A difference of logarithms is a relative
    -- difference of energy, independent of the kernel's other costs. [s]
    unlimited_s * (
        1e0 + 1e-9 * COALESCE(LN(NULLIF(GREATEST(dynamic_energy_j, 0e0), 0e0)), 0e0) + 1e-14 * t.candidate
    ) AS rank_s
FROM cost_border AS p
LEFT JOIN tile_time AS t ON t.run = p.run AND t.shape_id = p.shape_id AND t.hardware = p.hardware
