-- Bounds of the largest batch that fits a part's main memory under the other conditions of the scenario. Except for the rounding of
-- storages to blocks, memory at each kernel is affine in the batch (`held_term`).
-- Grain: run, hardware
CREATE VIEW batch_limit AS
WITH kernel_sums AS (
    SELECT
        h.run,
        h.kernel_id,
        MAX(c.value) AS block_byte,
        SUM(h.storage_count * h.fixed_byte) AS fixed_byte,
        SUM(h.storage_count * (h.fixed_byte + c.value)) AS rounded_byte,
        SUM(h.storage_count * h.sample_byte) AS sample_byte
    FROM held_term AS h
    INNER JOIN library_constant AS c ON c.library_constant = 'allocator_block_byte' GROUP BY h.run, h.kernel_id
),

growing_kernels AS (
    SELECT
        k.*,
        m.weight_byte + m.buffer_byte AS resident_byte,
        m.kv_cache_byte / NULLIF(k.run.batch, 0) AS kv_cache_sample_byte,
        b.reserve_fraction,
        1e0 + b.workspace_fraction AS workspace_factor,
        (1e0 + b.workspace_fraction) * k.sample_byte + m.kv_cache_byte / NULLIF(k.run.batch, 0) AS grown_byte
    FROM kernel_sums AS k
    INNER JOIN run_memory AS m ON m.run = k.run
    INNER JOIN backend AS b ON b.backend = k.run.backend
)

SELECT
    k.run,
    t.hardware,
    -- Capacity of the part's main memory. [byte]
    MAX(h.dram_byte) AS dram_byte,
    -- Main memory of the framework's process: the driver's context, stacks and code; null when unknown. [byte]
    MAX(CASE WHEN x.backend IS NULL THEN 0e0 ELSE x.context_byte END) AS context_byte,
    -- Block size of the allocator. [byte]
    MAX(k.block_byte) AS block_byte,
    -- Weights, buffers and constants, and the memory that the backend leaves free. [byte]
    MAX(k.resident_byte + k.reserve_fraction * h.dram_byte) AS resident_byte,
    -- KV cache of one sample. [byte]
    MAX(k.kv_cache_sample_byte) AS kv_cache_sample_byte,
    -- Ratio of activations plus the backend's scratch memory to activations.
    MAX(k.workspace_factor) AS workspace_factor,
    -- Memory that each further sample adds at the kernel that limits the batch. [byte]
    MAX(k.grown_byte) AS grown_byte,
    -- Upper bound of the batch, without rounding of storages; null when memory does not grow with the batch.
    MIN(FLOOR(
        (h.dram_byte - occupied_byte(k.resident_byte + k.workspace_factor * k.fixed_byte, k.reserve_fraction, h.dram_byte, x.backend, x.context_byte))
        / NULLIF(k.grown_byte, 0e0)
    )) AS upper_batch,
    -- Lower bound of the batch: this batch fits even if rounding adds a whole block to every storage; 0 if not even one sample
    -- fits.
    GREATEST(0e0, MIN(
        FLOOR(
            (h.dram_byte - occupied_byte(k.resident_byte + k.workspace_factor * k.rounded_byte, k.reserve_fraction, h.dram_byte, x.backend, x.context_byte))
            / NULLIF(k.grown_byte, 0e0)
        )
    )) AS lower_batch,
    -- Lower bound of the batch that fits the last-level cache instead of main memory.
    GREATEST(0e0, MIN(
        FLOOR((h.cache_byte - k.resident_byte - k.workspace_factor * k.rounded_byte) / NULLIF(k.grown_byte, 0e0))
    )) AS on_chip_batch
FROM growing_kernels AS k
INNER JOIN part_support AS t ON t.backend = k.run.backend AND t.precision = k.run.precision
INNER JOIN part AS h ON h.hardware = t.hardware
LEFT JOIN part_context AS x ON x.hardware = t.hardware AND x.backend = t.backend GROUP BY k.run, t.hardware
