-- The efficiencies that hold for a part, backend, kernel class, element type and layout. Of each resource the most
-- specific row of `efficiency` wins: scope first (the part's own, a sibling's (`lending_part`), its architecture's, its
-- family's, any), then ATen operator, class, backend, precision and format. A backend's own rows win over those it takes
-- from another (`backend_support.efficiency_backend`); an unfused counterpart has those of the backend it stands against. Element types and operators without rows share `*`
-- (`efficiency_precision`, `efficiency_operator`).
-- Grain: hardware, backend, kernel_class, operator_name, precision_class, layout
CREATE TABLE part_efficiency AS
WITH part_scopes AS (
    -- A sibling lends the rows of one backend.
    SELECT hardware, CONCAT('hardware:', hardware) AS scope, NULL AS of_backend, 4 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('hardware:', lender) AS scope, backend AS of_backend, 3 AS scope_rank FROM lending_part
    UNION ALL
    SELECT hardware, CONCAT('architecture:', architecture) AS scope, NULL AS of_backend, 2 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('family:', family) AS scope, NULL AS of_backend, 1 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, '*' AS scope, NULL AS of_backend, 0 AS scope_rank FROM hardware
),

accepted_backends AS (
    SELECT hardware, backend, '*' AS row_backend, 0 AS backend_rank FROM supported_backend
    UNION ALL
    SELECT hardware, backend, row_backend, 16 AS backend_rank FROM supported_backend
    UNION ALL
    SELECT hardware, backend, efficiency_backend AS row_backend, 8 AS backend_rank
    FROM supported_backend
    WHERE efficiency_backend IS NOT NULL
),

-- Rows are first told apart by all but the part, of which there are many.
matching_rows AS (
    SELECT
        s.hardware,
        a.backend,
        r.*,
        CAST(s.scope_rank * 100 + r.row_rank + a.backend_rank AS INTEGER) AS specificity
    FROM part_scopes AS s
    INNER JOIN ranked_efficiency AS r ON r.scope = s.scope AND COALESCE(r.row_backend = s.of_backend, TRUE)
    INNER JOIN accepted_backends AS a ON a.hardware = s.hardware AND a.row_backend = r.row_backend
)

SELECT
    hardware,
    backend,
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
    -- Share of the shorter of arithmetic and memory hidden behind the longer.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'overlap' THEN specificity END) AS overlap_fraction,
    -- Share of the last-level cache a kernel's inputs and outputs may fill and still be served there.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'residency' THEN specificity END) AS residency_fraction,
    -- Share of the peak bandwidth at which a library puts weights and images in its own order, or a bias in the result,
    -- at every call; null where they are used as they lie.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'reorder' THEN specificity END) AS reorder_fraction,
    -- Share of the peak bandwidth at which fresh pages are handed out; null where memory is kept from run to run.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'paging' THEN specificity END) AS paging_fraction,
    -- Share of the bandwidth that one unit alone draws which a loop of one thread reaches; null where unknown.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'thread' THEN specificity END) AS thread_fraction,
    -- Time in which the backend's team of threads begins and ends, as a multiple of the part's; null where unknown.
    MAX_BY(half_work, CASE WHEN resource = 'thread' THEN specificity END) AS team_ratio,
    -- Row of `efficiency` behind matrix.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'matrix' THEN specificity END)) AS matrix_efficiency_id,
    -- Row of `efficiency` behind vector.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'vector' THEN specificity END)) AS vector_efficiency_id,
    -- Row of `efficiency` behind memory.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'memory' THEN specificity END)) AS memory_efficiency_id,
    -- Row of `efficiency` behind overlap.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'overlap' THEN specificity END)) AS overlap_efficiency_id,
    -- Row of `efficiency` behind residency.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'residency' THEN specificity END)) AS residency_efficiency_id,
    -- Row of `efficiency` behind reorder; null where operands are used as they lie.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'reorder' THEN specificity END)) AS reorder_efficiency_id,
    -- Row of `efficiency` behind paging; null where memory is kept from run to run.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'paging' THEN specificity END)) AS paging_efficiency_id,
    -- Row of `efficiency` behind thread; null where nothing is known of threads.
    ABS(MAX_BY(signed_id, CASE WHEN resource = 'thread' THEN specificity END)) AS thread_efficiency_id,
    -- The one of those rows of which a number cannot be (`rule_fault`), for which answers are null; null where there is none.
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
GROUP BY hardware, backend, kernel_class, operator_name, precision_class, layout
