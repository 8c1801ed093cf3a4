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

held_storages AS (
    SELECT
        g.model,
        g.backend,
        g.precision,
        g.sequence,
        g.context,
        g.logit_tokens,
        k.kernel_id,
        s.fixed_byte,
        s.sample_byte
    FROM growing_plans AS g
    INNER JOIN storage_term AS s
        ON s.model = g.model AND s.backend = g.backend AND s.precision = g.precision AND s.sequence = g.sequence
        AND s.context = g.context AND s.logit_tokens = g.logit_tokens
    INNER JOIN kernel AS k
        ON k.model = s.model AND k.backend = s.backend AND k.kernel_id BETWEEN s.first_kernel_id AND s.last_kernel_id
),

kernel_sums AS (
    SELECT
        h.model,
        h.backend,
        h.precision,
        h.sequence,
        h.context,
        h.logit_tokens,
        h.kernel_id,
        SUM(h.fixed_byte) AS fixed_byte,
        SUM(h.fixed_byte + c.value) AS rounded_byte,
        SUM(h.sample_byte) AS sample_byte
    FROM held_storages AS h
    INNER JOIN library_constant AS c ON c.library_constant = 'allocator_block_byte'
    GROUP BY h.model, h.backend, h.precision, h.sequence, h.context, h.logit_tokens, h.kernel_id
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
        h.kernel_id,
        h.fixed_byte,
        h.sample_byte,
        COUNT(*) AS storage_count
    FROM held_storages AS h
    INNER JOIN compared_kernels AS k
        ON k.model = h.model AND k.backend = h.backend AND k.precision = h.precision AND k.sequence = h.sequence
        AND k.context = h.context AND k.logit_tokens = h.logit_tokens AND k.kernel_id = h.kernel_id
    WHERE k.growth_rank = 1 OR k.rounded_byte + k.sample_byte > k.fastest_byte
    GROUP BY
        h.model, h.backend, h.precision, h.sequence, h.context, h.logit_tokens, h.kernel_id, h.fixed_byte, h.sample_byte
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
