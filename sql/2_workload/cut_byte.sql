-- Bytes that would cross a cut of the run after each kernel: results of this kernel and of earlier kernels that later kernels read.
-- Views of one storage count once; model inputs and weights do not count.
-- Grain: run, kernel_id
CREATE VIEW cut_byte AS
WITH crossing_storages AS (
    SELECT
        b.run,
        t.storage_tensor_id,
        MIN(CASE WHEN b.direction = 'write' THEN b.kernel_id END) AS first_kernel_id,
        MAX(CASE WHEN b.direction = 'read' THEN b.kernel_id END) AS last_kernel_id,
        MAX(CASE WHEN b.direction = 'write' THEN b.moved_byte END) AS moved_byte
    FROM border_byte AS b
    INNER JOIN tensor AS t ON t.model = b.run.model AND t.tensor_id = b.tensor_id
    WHERE b.backend = b.run_backend AND (b.direction = 'write' OR b.is_produced)
    GROUP BY b.run, t.storage_tensor_id
),

signs AS (
    SELECT 1e0 AS sign
    UNION ALL
    SELECT -1e0 AS sign
),

changes AS (
    SELECT
        c.run,
        CASE WHEN g.sign > 0e0 THEN c.first_kernel_id ELSE c.last_kernel_id END AS kernel_id,
        g.sign * c.moved_byte AS moved_byte
    FROM crossing_storages AS c
    CROSS JOIN signs AS g
    WHERE c.last_kernel_id > c.first_kernel_id
    UNION ALL
    SELECT
        r.run,
        k.kernel_id,
        0e0 AS moved_byte
    FROM run AS r
    INNER JOIN kernel AS k ON k.model = r.run.model AND k.backend = r.run.backend
),

changes_by_kernel AS (
    SELECT run, kernel_id, SUM(moved_byte) AS moved_byte
    FROM changes
    GROUP BY run, kernel_id
)

SELECT
    run,
    kernel_id,
    -- Bytes that cross the cut. [byte]
    SUM(moved_byte) OVER (PARTITION BY run ORDER BY kernel_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS crossing_byte
FROM changes_by_kernel

