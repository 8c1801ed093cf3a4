-- Page faults of PyTorch on a processor: memory that the operating system supplies in every run, page by page. Every block of 32
-- MiB or more causes page faults, because glibc's malloc maps the block each time (`DEFAULT_MMAP_THRESHOLD_MAX`, mallopt(3)). Of
-- smaller blocks, a share does, by which the heap grows because the previous run returned memory (`heap_growth`).
-- Grain: run, kernel_id
CREATE VIEW page_fault AS
WITH heap_growths AS (
    SELECT r.run, MAX_BY(g.growth_fraction, g.batch) AS growth_fraction
    FROM run AS r
    INNER JOIN heap_growth AS g ON g.model = r.run.model AND g.backend = r.run.backend AND g.batch <= r.run.batch GROUP BY r.run
),

memory_blocks AS (
    SELECT run, MIN(first_kernel_id) AS kernel_id, MAX(held_byte) AS held_byte
    FROM storage_byte
    WHERE first_kernel_id >= 0
    GROUP BY run, block_tensor_id, is_copy, storage_precision
    UNION ALL
    SELECT run, kernel_id, scratch_byte AS held_byte FROM convolution_call
    UNION ALL
    -- Channels-last weights of one size share a block. The share of heap growth already includes weights smaller than a mapped
    -- block.
    SELECT v.run, MIN(v.kernel_id) AS kernel_id, v.channels_last_byte AS held_byte
    FROM convolution_call AS v
    INNER JOIN library_constant AS c ON c.library_constant = 'mapped_block_byte' AND v.channels_last_byte >= c.value
    GROUP BY v.run, v.channels_last_byte
)

SELECT
    b.run,
    b.kernel_id,
    -- Size of the results and scratch memory that the kernel allocates. [byte]
    SUM(b.held_byte) AS allocated_byte,
    -- Size of the fresh pages for `allocated_byte`. Whole bytes are summed before the share is applied, so that the sum does not
    -- depend on the order. [byte]
    SUM(CASE WHEN b.held_byte < c.value THEN b.held_byte ELSE 0e0 END) * MAX(g.growth_fraction)
    + SUM(CASE WHEN b.held_byte < c.value THEN 0e0 ELSE b.held_byte END) AS fault_byte
FROM memory_blocks AS b
INNER JOIN heap_growths AS g ON g.run = b.run
INNER JOIN library_constant AS c ON c.library_constant = 'mapped_block_byte' GROUP BY b.run, b.kernel_id

