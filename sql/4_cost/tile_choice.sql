-- The candidate tile that each shape runs its products with: the one that makes the kernel fastest (`tile_rank`), which keeps
-- time monotone in batch and in every resource.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW tile_choice AS
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
FROM tile_rank
GROUP BY model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
