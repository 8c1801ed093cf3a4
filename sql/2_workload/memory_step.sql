-- Activation memory in use while each kernel of a run executes: every storage adds its size at the kernel that allocates it and
-- subtracts it after the last kernel that needs it.
-- Grain: run, kernel_id
CREATE VIEW memory_step AS
WITH signs AS (
    SELECT 1e0 AS sign
    UNION ALL
    SELECT -1e0 AS sign
),

changes AS (
    SELECT
        s.run,
        CASE WHEN g.sign > 0e0 THEN s.first_kernel_id ELSE s.last_kernel_id + 1 END AS kernel_id,
        g.sign AS storage_count,
        g.sign * s.held_byte AS live_byte,
        g.sign * s.allocated_byte AS allocated_byte,
        0 AS is_kernel
    FROM storage_byte AS s
    CROSS JOIN signs AS g
    UNION ALL
    SELECT
        r.run,
        k.kernel_id,
        0e0 AS storage_count,
        0e0 AS live_byte,
        0e0 AS allocated_byte,
        1 AS is_kernel
    FROM run AS r
    INNER JOIN kernel AS k ON k.model = r.run.model AND k.backend = r.run.backend
),

changes_by_kernel AS (
    SELECT
        run,
        kernel_id,
        SUM(storage_count) AS storage_count,
        SUM(live_byte) AS live_byte,
        SUM(allocated_byte) AS allocated_byte,
        MAX(is_kernel) AS is_kernel
    FROM changes
    GROUP BY run, kernel_id
),

held_at_kernel AS (
    SELECT
        run,
        kernel_id,
        is_kernel,
        SUM(storage_count) OVER (
            PARTITION BY run ORDER BY kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS storage_count,
        SUM(live_byte) OVER (PARTITION BY run ORDER BY kernel_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS live_byte,
        SUM(allocated_byte) OVER (
            PARTITION BY run ORDER BY kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS allocated_byte
    FROM changes_by_kernel
)

SELECT
    run,
    kernel_id,
    -- Number of storages in memory.
    CAST(storage_count AS BIGINT) AS storage_count,
    -- Size of the storages' elements. [byte]
    live_byte,
    -- Size of the allocator's blocks for the storages. [byte]
    allocated_byte
FROM held_at_kernel
WHERE is_kernel = 1

