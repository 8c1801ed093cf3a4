-- Memory of a run at the peak of its activations, without gradients of weights, divided into memory that tensor parallelism splits
-- and memory that each device keeps whole.
-- Grain: run
CREATE VIEW peak_byte AS
SELECT
    s.run,
    -- Size of the results whose features tensor parallelism shards over devices. [byte]
    SUM(CASE WHEN k.split IN ('column', 'between') THEN s.held_byte ELSE 0e0 END) AS split_peak_byte,
    -- Size of the results that every device keeps whole, and of the run's inputs. [byte]
    SUM(CASE WHEN COALESCE(k.split, 'whole') IN ('row', 'whole') THEN s.held_byte ELSE 0e0 END) AS whole_peak_byte
FROM run_memory AS m
INNER JOIN storage_byte AS s ON s.run = m.run AND m.peak_kernel_id BETWEEN s.first_kernel_id AND s.last_kernel_id
INNER JOIN tensor AS t ON t.model = s.run.model AND t.tensor_id = s.tensor_id AND t.role <> 'gradient'
LEFT JOIN split_kernel AS k ON k.run = s.run AND k.kernel_id = s.first_kernel_id GROUP BY s.run
