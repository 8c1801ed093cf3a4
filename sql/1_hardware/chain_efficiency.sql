-- The efficiencies that hold for a kernel class, element type and layout where parts take some groups of rows. Of each resource the
-- most specific row of `efficiency` wins: scope and backend first (`efficiency_link`), then ATen operator, class, precision and
-- format. Element types and operators without rows share `*` (`efficiency_precision`, `efficiency_operator`).
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
    -- Share of the matrix units' peak reached by a large kernel.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'matrix' THEN specificity END) AS matrix_fraction,
    -- Operations a unit at which half of that is reached.
    MAX_BY(half_work, CASE WHEN resource = 'matrix' THEN specificity END) AS matrix_half_ops,
    -- Share of the vector units' peak reached by a large kernel.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'vector' THEN specificity END) AS vector_fraction,
    -- Operations a unit at which half of that is reached.
    MAX_BY(half_work, CASE WHEN resource = 'vector' THEN specificity END) AS vector_half_ops,
    -- Share of the peak bandwidth reached by a large kernel.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'memory' THEN specificity END) AS memory_fraction,
    -- Bytes a unit at which half of that is reached. [byte]
    MAX_BY(half_work, CASE WHEN resource = 'memory' THEN specificity END) AS memory_half_byte,
    -- Share of the shorter of arithmetic and memory that overlaps the longer.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'overlap' THEN specificity END) AS overlap_fraction,
    -- Share of the last-level cache a kernel's inputs and outputs may fill and still be served there.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'residency' THEN specificity END) AS residency_fraction,
    -- Share of the peak bandwidth at which a library reorders weights and images, or writes a bias to the result, at every call;
    -- null where operands keep their order.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'reorder' THEN specificity END) AS reorder_fraction,
    -- Share of the peak bandwidth at which fresh pages are handed out; null where memory is kept from run to run.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'paging' THEN specificity END) AS paging_fraction,
    -- Share of the bandwidth that one unit alone draws which a loop of one thread reaches; null where unknown.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'thread' THEN specificity END) AS thread_fraction,
    -- Time in which the backend's team of threads begins and ends, as a multiple of the part's; null where unknown.
    MAX_BY(half_work, CASE WHEN resource = 'thread' THEN specificity END) AS team_ratio,
    -- Row of `efficiency` that gives matrix.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'matrix' THEN specificity END)) AS matrix_efficiency_id,
    -- Row of `efficiency` that gives vector.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'vector' THEN specificity END)) AS vector_efficiency_id,
    -- Row of `efficiency` that gives memory.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'memory' THEN specificity END)) AS memory_efficiency_id,
    -- Row of `efficiency` that gives overlap.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'overlap' THEN specificity END)) AS overlap_efficiency_id,
    -- Row of `efficiency` that gives residency.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'residency' THEN specificity END)) AS residency_efficiency_id,
    -- Row of `efficiency` that gives reorder; null where operands keep their order.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'reorder' THEN specificity END)) AS reorder_efficiency_id,
    -- Row of `efficiency` that gives paging; null where memory is kept from run to run.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'paging' THEN specificity END)) AS paging_efficiency_id,
    -- Row of `efficiency` that gives thread; null where unknown.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'thread' THEN specificity END)) AS thread_efficiency_id,
    -- One of these rows with an impossible number (`rule_fault`), which makes answers null; else null.
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
            0
        ),
        0
    ) AS faulty_efficiency_id
FROM matching_rows
GROUP BY efficiency_chain, kernel_class, operator_name, precision_class, layout
