-- Rows of a normalization: PyTorch's own GPU kernel assigns one block of threads to each row, whose latency does not depend on its
-- bytes; loads and stores of a row wait for the statistics of the row, so that both times add. A batch norm outside channels-last
-- assigns a smaller block to each channel of each sample (`cost_flight`), and in half precision two small kernels first convert the
-- statistics. Compilers assign several rows to a block.
-- Term: row, memory, row_count, , , row_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_row AS
WITH blocked_rows AS (
    SELECT
        *,
        CASE
            WHEN NOT follows_strides THEN 0e0
            WHEN kernel_class = 'batch_norm'
                THEN CASE WHEN layout = 'nhwc' THEN 0e0 ELSE COALESCE(row_count * channel_row_s, 0e0) END
                    + CASE WHEN compute_precision = 'fp32' THEN 0e0 ELSE 2e0 * kernel_gap_s END
            ELSE COALESCE(row_count * norm_row_s, 0e0)
        END AS block_s
    FROM cost_latency_bound
)

SELECT
    * EXCLUDE (block_s),
    -- Time of the blocks of threads for all rows, and of the gaps of a batch norm's small kernels; 0 for other kernels, or when
    -- threads or clock are unknown. [s]
    block_s,
    -- Time of all rows: blocks of threads plus main memory; 0 for a batch norm and other kernels. [s]
    CASE WHEN block_s > 0e0 AND kernel_class <> 'batch_norm' THEN block_s + dram_s ELSE 0e0 END AS row_s
FROM blocked_rows
