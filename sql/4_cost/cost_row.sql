-- Rows of a normalization: PyTorch's own GPU kernel assigns one block of threads to each row, so that the time of a short row is
-- the block's latency and does not depend on its bytes. Compilers assign several rows to a block.
-- Term: row, memory, row_count, , , row_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_row AS
SELECT
    *,
    -- Time of the blocks of threads for all rows; 0 for other kernels, or when threads or clock are unknown. [s]
    CASE WHEN follows_strides THEN COALESCE(row_count * norm_row_s, 0e0) ELSE 0e0 END AS row_s
FROM cost_latency_bound
