-- Efficiencies of a kernel class, element type and layout under one chain of groups of `efficiency` rows (`part_backend`), which
-- several parts share. For each resource the most specific row applies: by scope and backend first (`efficiency_link`), then by
-- ATen operator, class, precision and format. Element types and operators without rows share `*` (`efficiency_precision`,
-- `efficiency_operator`).
-- Grain: efficiency_chain, kernel_class, operator_name, precision_class, layout
CREATE TABLE chain_efficiency AS
WITH chain_links AS (
    SELECT p.efficiency_chain, l.scope, l.row_backend, MIN(l.link_rank) AS link_rank
    FROM part_backend AS p
    INNER JOIN efficiency_link AS l ON l.hardware = p.hardware AND l.backend = p.backend
    GROUP BY p.efficiency_chain, l.scope, l.row_backend
),

matching_rows AS (
    SELECT
        c.efficiency_chain,
        r.*,
        CAST(c.link_rank + r.row_rank AS INTEGER) AS specificity
    FROM chain_links AS c
    INNER JOIN ranked_efficiency AS r ON r.scope = c.scope AND r.row_backend = c.row_backend
)

SELECT
    efficiency_chain,
    kernel_class,
    operator_name,
    precision_class,
    layout,
    -- Share of the matrix units' peak that a large kernel attains.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'matrix' THEN specificity END) AS matrix_fraction,
    -- Operations per unit at which a kernel attains half of the share of a large kernel.
    MAX_BY(half_work, CASE WHEN resource = 'matrix' THEN specificity END) AS matrix_half_ops,
    -- Share of the vector units' peak that a large kernel attains.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'vector' THEN specificity END) AS vector_fraction,
    -- Operations per unit at which a kernel attains half of the share of a large kernel.
    MAX_BY(half_work, CASE WHEN resource = 'vector' THEN specificity END) AS vector_half_ops,
    -- Share of the peak bandwidth that a large kernel attains.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'memory' THEN specificity END) AS memory_fraction,
    -- Bytes per unit at which a kernel attains half of the share of a large kernel. [byte]
    MAX_BY(half_work, CASE WHEN resource = 'memory' THEN specificity END) AS memory_half_byte,
    -- Share of the shorter of arithmetic and memory time that overlaps the longer.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'overlap' THEN specificity END) AS overlap_fraction,
    -- Share of the last-level cache that a kernel's inputs and outputs may occupy without being evicted.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'residency' THEN specificity END) AS residency_fraction,
    -- Share of the peak bandwidth at which a library reorders weights and images, or writes a bias to the result, at every call;
    -- null where operands keep their order.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'reorder' THEN specificity END) AS reorder_fraction,
    -- Share of the peak bandwidth at which the operating system supplies fresh pages; null where memory is kept between runs.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'paging' THEN specificity END) AS paging_fraction,
    -- Share of one unit's bandwidth that a single-threaded loop attains; null when unknown.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'thread' THEN specificity END) AS thread_fraction,
    -- Ratio of the backend's time to start and join a thread team to the part's; null when unknown.
    MAX_BY(half_work, CASE WHEN resource = 'thread' THEN specificity END) AS team_ratio,
    -- Mean number of loads that a resident thread of a kernel without vector loads keeps in flight; null if bandwidth limits the
    -- kernel.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'flight' THEN specificity END) AS flight_fraction,
    -- Row of `efficiency` for the matrix units.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'matrix' THEN specificity END)) AS matrix_efficiency_id,
    -- Row of `efficiency` for the vector units.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'vector' THEN specificity END)) AS vector_efficiency_id,
    -- Row of `efficiency` for the memory bandwidth.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'memory' THEN specificity END)) AS memory_efficiency_id,
    -- Row of `efficiency` for the overlap.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'overlap' THEN specificity END)) AS overlap_efficiency_id,
    -- Row of `efficiency` for the residency.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'residency' THEN specificity END)) AS residency_efficiency_id,
    -- Row of `efficiency` for reordering; null where operands keep their order.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'reorder' THEN specificity END)) AS reorder_efficiency_id,
    -- Row of `efficiency` for paging; null where memory is kept between runs.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'paging' THEN specificity END)) AS paging_efficiency_id,
    -- Row of `efficiency` for threads; null when unknown.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'thread' THEN specificity END)) AS thread_efficiency_id,
    -- Row of `efficiency` for loads in flight; null if bandwidth limits the kernel.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'flight' THEN specificity END)) AS flight_efficiency_id,
    -- Row of `efficiency` with an impossible number (`rule_fault`), which makes answers null; else null.
    -NULLIF(
        LEAST(
            MAX_BY(signed_id, CASE WHEN resource = 'matrix' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'vector' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'memory' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'overlap' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'residency' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'reorder' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'paging' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'thread' THEN specificity END),
            MAX_BY(signed_id, CASE WHEN resource = 'flight' THEN specificity END),
            0
        ),
        0
    ) AS faulty_efficiency_id
FROM matching_rows
GROUP BY efficiency_chain, kernel_class, operator_name, precision_class, layout
