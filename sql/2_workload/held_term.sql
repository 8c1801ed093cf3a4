-- Storages in memory at each kernel where activation memory may peak at some batch. A storage's size is fixed_byte + sample_byte *
-- batch; storages of equal size share a row with a count. A kernel is left out if the fastest-growing kernel already needs more
-- memory at batch 1, even after rounding up every block. Only models with a symbolic batch whose storages grow at most linearly
-- with the batch have rows.
-- Grain: run, kernel_id, fixed_byte, sample_byte
CREATE TABLE held_term AS
WITH growing_plans AS (
    SELECT s.model, s.backend, s.precision, s.sequence, s.context, s.logit_tokens
    FROM storage_term AS s
    INNER JOIN model AS m ON m.model = s.model AND m.is_batch_symbolic
    GROUP BY s.model, s.backend, s.precision, s.sequence, s.context, s.logit_tokens
    HAVING MAX(s.batch_power) <= 1
),

growing_storages AS (
    SELECT s.*
    FROM growing_plans AS g
    INNER JOIN storage_term AS s
        ON s.model = g.model AND s.backend = g.backend AND s.precision = g.precision AND s.sequence = g.sequence
        AND s.context = g.context AND s.logit_tokens = g.logit_tokens
),

signs AS (
    SELECT 1e0 AS sign
    UNION ALL
    SELECT -1e0 AS sign
),

-- Sizes are whole numbers of bytes, or eighths of them, so that a running sum is exact.
changes AS (
    SELECT
        s.model,
        s.backend,
        s.precision,
        s.sequence,
        s.context,
        s.logit_tokens,
        CASE WHEN g.sign > 0e0 THEN s.first_kernel_id ELSE s.last_kernel_id + 1 END AS kernel_id,
        g.sign AS storage_count,
        g.sign * s.fixed_byte AS fixed_byte,
        g.sign * s.sample_byte AS sample_byte,
        0 AS is_kernel
    FROM growing_storages AS s
    CROSS JOIN signs AS g
    UNION ALL
    SELECT
        g.model,
        g.backend,
        g.precision,
        g.sequence,
        g.context,
        g.logit_tokens,
        k.kernel_id,
        0e0 AS storage_count,
        0e0 AS fixed_byte,
        0e0 AS sample_byte,
        1 AS is_kernel
    FROM growing_plans AS g
    INNER JOIN kernel AS k ON k.model = g.model AND k.backend = g.backend
),

changes_by_kernel AS (
    SELECT
        model, backend, precision, sequence, context, logit_tokens, kernel_id,
        SUM(storage_count) AS storage_count,
        SUM(fixed_byte) AS fixed_byte,
        SUM(sample_byte) AS sample_byte,
        MAX(is_kernel) AS is_kernel
    FROM changes
    GROUP BY model, backend, precision, sequence, context, logit_tokens, kernel_id
),

held_at_kernel AS (
    SELECT
        model, backend, precision, sequence, context, logit_tokens, kernel_id, is_kernel,
        SUM(storage_count) OVER (
            PARTITION BY model, backend, precision, sequence, context, logit_tokens ORDER BY kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS storage_count,
        SUM(fixed_byte) OVER (
            PARTITION BY model, backend, precision, sequence, context, logit_tokens ORDER BY kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS fixed_byte,
        SUM(sample_byte) OVER (
            PARTITION BY model, backend, precision, sequence, context, logit_tokens ORDER BY kernel_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS sample_byte
    FROM changes_by_kernel
),

kernel_sums AS (
    SELECT h.* EXCLUDE (is_kernel), h.fixed_byte + h.storage_count * c.value AS rounded_byte
    FROM held_at_kernel AS h
    INNER JOIN library_constant AS c ON c.library_constant = 'allocator_block_byte'
    WHERE h.is_kernel = 1 AND h.storage_count > 0e0
),

ranked_kernels AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model, backend, precision, sequence, context, logit_tokens
            ORDER BY sample_byte DESC, fixed_byte DESC, kernel_id
        ) AS growth_rank
    FROM kernel_sums
),

compared_kernels AS (
    SELECT
        *,
        MAX(CASE WHEN growth_rank = 1 THEN fixed_byte + sample_byte END) OVER (
            PARTITION BY model, backend, precision, sequence, context, logit_tokens
        ) AS fastest_byte
    FROM ranked_kernels
),

counted_storages AS (
    SELECT
        h.model,
        h.backend,
        h.precision,
        h.sequence,
        h.context,
        h.logit_tokens,
        k.kernel_id,
        h.fixed_byte,
        h.sample_byte,
        COUNT(*) AS storage_count
    FROM compared_kernels AS k
    INNER JOIN growing_storages AS h
        ON h.model = k.model AND h.backend = k.backend AND h.precision = k.precision AND h.sequence = k.sequence
        AND h.context = k.context AND h.logit_tokens = k.logit_tokens AND k.kernel_id BETWEEN h.first_kernel_id AND h.last_kernel_id
    WHERE k.growth_rank = 1 OR k.rounded_byte + k.sample_byte > k.fastest_byte
    GROUP BY
        h.model, h.backend, h.precision, h.sequence, h.context, h.logit_tokens, k.kernel_id, h.fixed_byte, h.sample_byte
)

SELECT
    r.run,
    c.kernel_id,
    c.fixed_byte,
    c.sample_byte,
    -- Number of storages of this size at the kernel.
    c.storage_count
FROM run AS r
INNER JOIN counted_storages AS c
    ON c.model = r.run.model AND c.backend = r.run.backend AND c.precision = r.run.precision AND c.sequence = r.run.sequence
    AND c.context = r.context AND c.logit_tokens = r.logit_tokens
