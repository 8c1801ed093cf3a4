-- Rows of a normalization: PyTorch's own GPU kernel gives each row a block of threads, which loads, sums and writes it, so that a
-- short row takes the time of a block and not of its bytes. Compilers give a block several rows.
-- Term: row, memory, row_count, , , row_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_row AS
SELECT
    *,
    -- Time of the blocks of these rows; 0 for other kernels, or when threads or clock are unknown. [s]
    CASE WHEN follows_strides THEN COALESCE(row_count * norm_row_s, 0e0) ELSE 0e0 END AS row_s
FROM cost_latency_bound
