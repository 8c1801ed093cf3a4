-- Rows of a normalization: PyTorch's own GPU kernel gives each a block of threads, which loads, sums and writes it in turn, so
-- that a short row takes a block's time and not that of its bytes. Compilers give several rows to a block.
-- Term: row, memory, row_count, , , row_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_row AS
SELECT
    *,
    -- Time of the blocks of those rows; 0 where others answer for it, or where threads or clock are unknown. [s]
    CASE WHEN follows_strides THEN COALESCE(row_count * norm_row_s, 0e0) ELSE 0e0 END AS row_s
FROM cost_latency_bound
