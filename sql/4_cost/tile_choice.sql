-- The candidate tile that each shape runs its products with: the one that makes the kernel fastest, which keeps time
-- monotone in batch and in every resource. Of times equal within rounding the one of less energy wins, then the lower
-- number: both are added to the time in shares too small to outweigh any real difference, too large for rounding.
-- The kernel's time is that of `shape_cost`, on the columns in which candidates differ.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW tile_choice AS
WITH ranked_shapes AS (
    SELECT
        t.*,
        GREATEST(t.stream_s + p.vector_stream_s, p.passing_s) AS first_level_s,
        GREATEST(
            (t.matrix_ideal_s + p.matrix_half_ops * t.matrix_op_s) / NULLIF(p.matrix_fraction, 0e0),
            (t.direct_ideal_s + p.vector_ideal_s + p.vector_half_ops * GREATEST(t.direct_op_s, p.vector_op_s))
            / NULLIF(p.vector_fraction, 0e0),
            t.matrix_naive_s,
            t.direct_naive_s + p.vector_naive_s
        ) AS compute_s,
        GREATEST(p.memory_s, t.reload_s, p.staged_load_s, CASE WHEN p.is_staged THEN first_level_s ELSE 0e0 END)
            AS slowest_memory_s,
        t.product_energy_j
        + CASE WHEN p.tile_memory_level IS NULL THEN 0e0 ELSE GREATEST(t.reload_byte, p.staged_byte) * p.tile_j_per_byte END
        + CASE
            WHEN p.stream_level IS NULL THEN 0e0
            ELSE GREATEST(t.stream_byte + p.vector_stream_byte, p.passing_byte) * p.stream_j_per_byte
        END AS tile_energy_j,
        tile_energy_j + p.memory_energy_j + p.vector_energy_j AS dynamic_energy_j,
        GREATEST(
            GREATEST(
                GREATEST(compute_s, slowest_memory_s) + (1e0 - p.overlap_fraction) * LEAST(compute_s, slowest_memory_s),
                CASE WHEN p.is_staged THEN 0e0 ELSE first_level_s END
            ) + p.exposed_s,
            COALESCE(dynamic_energy_j / NULLIF(p.tdp_w - p.static_w, 0e0), 0e0)
        ) AS busy_s,
        -- A difference of logarithms is a relative difference of energy, whatever else the kernel takes.
        busy_s * (
            1e0 + 1e-9 * COALESCE(LN(NULLIF(GREATEST(dynamic_energy_j, 0e0), 0e0)), 0e0) + 1e-14 * t.candidate
        ) AS rank_s
    FROM tile_time AS t
    INNER JOIN cost_border AS p
        ON p.model = t.model AND p.backend = t.backend AND p.precision = t.precision AND p.batch = t.batch
        AND p.sequence = t.sequence AND p.scenario_id = t.scenario_id AND p.shape_id = t.shape_id
        AND p.hardware = t.hardware
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
    -- Number of the chosen tile.
    MIN_BY(candidate, rank_s) AS candidate,
    MIN_BY(matrix_ideal_s, rank_s) AS matrix_ideal_s,
    MIN_BY(direct_ideal_s, rank_s) AS direct_ideal_s,
    MIN_BY(matrix_op_s, rank_s) AS matrix_op_s,
    MIN_BY(direct_op_s, rank_s) AS direct_op_s,
    MIN_BY(matrix_naive_s, rank_s) AS matrix_naive_s,
    MIN_BY(direct_naive_s, rank_s) AS direct_naive_s,
    -- Energy of its products; null when a coefficient is missing: MIN_BY passes over nulls, so -1 stands for it in between. [J]
    NULLIF(MIN_BY(COALESCE(product_energy_j, -1e0), rank_s), -1e0) AS product_energy_j,
    MIN_BY(reload_byte, rank_s) AS reload_byte,
    MIN_BY(reload_s, rank_s) AS reload_s,
    MIN_BY(stream_byte, rank_s) AS stream_byte,
    MIN_BY(stream_s, rank_s) AS stream_s,
    MIN_BY(units_allocated, rank_s) AS units_allocated
FROM ranked_shapes
GROUP BY model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
