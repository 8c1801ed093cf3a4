-- Kernel of every run at which the activations take most memory, and their size there.
-- Grain: run
CREATE VIEW activation_peak AS
WITH ranked_kernels AS (
    SELECT
        run,
        kernel_id,
        live_byte,
        allocated_byte,
        ROW_NUMBER() OVER (PARTITION BY run ORDER BY allocated_byte DESC, kernel_id) AS peak_rank
    FROM memory_step
),

gradient_sums AS (
    SELECT s.run, SUM(s.held_byte) AS gradient_byte
    FROM storage_byte AS s
    INNER JOIN tensor AS t ON t.model = s.run.model AND t.tensor_id = s.tensor_id AND t.role = 'gradient' GROUP BY s.run
)

SELECT
    k.run,
    -- Kernel at the peak of the activations; the first in a tie.
    k.kernel_id AS peak_kernel_id,
    -- Size of the elements at the peak. [byte]
    k.live_byte,
    -- Size of the allocator's blocks at the peak. [byte]
    k.allocated_byte,
    -- Size of the gradients of the trained weights, which stay in memory throughout the run. [byte]
    COALESCE(g.gradient_byte, 0e0) AS gradient_byte
FROM ranked_kernels AS k
LEFT JOIN gradient_sums AS g ON g.run = k.run
WHERE k.peak_rank = 1
