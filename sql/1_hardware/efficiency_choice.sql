-- The efficiencies that hold for a part, backend, kernel class, precision class and memory format. Of each
-- resource the most specific row of `efficiency` wins: scope first (the part's own, a sibling's (`lending_part`), its
-- architecture's, its family's, any), then ATen operator, class, backend, precision and format. Precisions and operators without a row
-- of their own share `*` (see `efficiency_precision`, `efficiency_operator`). A backend's own rows win over those it takes
-- from another (`backend_support.efficiency_backend`), which are assumed to hold for it.
-- Grain: hardware, backend, kernel_class, operator_name, precision_class, memory_format
CREATE VIEW efficiency_choice AS
WITH part_scopes AS (
    -- A sibling lends the rows of one backend.
    SELECT hardware, CONCAT('hardware:', hardware) AS scope, NULL AS of_backend, 4 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('hardware:', lender_id) AS scope, backend AS of_backend, 3 AS scope_rank FROM lending_part
    UNION ALL
    SELECT hardware, CONCAT('architecture:', architecture) AS scope, NULL AS of_backend, 2 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, CONCAT('family:', family) AS scope, NULL AS of_backend, 1 AS scope_rank FROM hardware
    UNION ALL
    SELECT hardware, '*' AS scope, NULL AS of_backend, 0 AS scope_rank FROM hardware
),

kernel_classes AS (
    SELECT DISTINCT backend, kernel_class, '*' AS operator_name FROM kernel
    UNION
    SELECT backend, 'cast' AS kernel_class, '*' AS operator_name FROM backend
    UNION
    SELECT backend, 'copy' AS kernel_class, '*' AS operator_name FROM backend
    UNION
    SELECT backend, 'bias' AS kernel_class, '*' AS operator_name FROM backend
    UNION
    SELECT backend, 'conv' AS kernel_class, 'aten._slow_conv2d_forward' AS operator_name FROM backend
    UNION
    SELECT b.backend, o.operator_class AS kernel_class, o.operator_name
    FROM (SELECT DISTINCT operator_class, operator_name FROM efficiency_operator) AS o
    CROSS JOIN backend AS b
),

accepted_backends AS (
    SELECT h.hardware, b.backend, '*' AS row_backend, 0 AS backend_rank
    FROM hardware AS h
    CROSS JOIN backend AS b
    UNION ALL
    SELECT h.hardware, b.backend, b.backend AS row_backend, 16 AS backend_rank
    FROM hardware AS h
    CROSS JOIN backend AS b
    UNION ALL
    SELECT hardware, backend, efficiency_backend AS row_backend, 8 AS backend_rank
    FROM supported_backend
    WHERE efficiency_backend IS NOT NULL
),

precision_classes AS (
    SELECT DISTINCT precision_class FROM efficiency
),

formats AS (
    SELECT 'nchw' AS memory_format
    UNION ALL
    SELECT 'nhwc' AS memory_format
    UNION ALL
    SELECT 'strided' AS memory_format
    UNION ALL
    SELECT 'aliased' AS memory_format
),

matching_rows AS (
    SELECT
        s.hardware,
        k.backend,
        k.kernel_class,
        k.operator_name,
        p.precision_class,
        f.memory_format,
        e.resource,
        e.maximum_fraction,
        e.half_work,
        CONCAT(
            e.scope, ', ', e.kernel_class, ', ', e.backend, ', ', e.precision_class, ', ', e.memory_format,
            '; ', e.source_id, ', ', CASE WHEN e.backend IN ('*', k.backend) AND s.of_backend IS NULL THEN e.confidence ELSE 'assumed' END
        ) AS basis,
        s.scope_rank * 100
        + CASE e.kernel_class WHEN '*' THEN 0 WHEN k.kernel_class THEN 32 ELSE 64 END
        + a.backend_rank
        + CASE WHEN e.precision_class = '*' THEN 0 ELSE 4 END
        + CASE WHEN e.memory_format = '*' THEN 0 ELSE 2 END AS specificity
    FROM part_scopes AS s
    INNER JOIN efficiency AS e ON e.scope = s.scope AND COALESCE(e.backend = s.of_backend, TRUE)
    INNER JOIN accepted_backends AS a ON a.hardware = s.hardware AND a.row_backend = e.backend
    INNER JOIN kernel_classes AS k ON e.kernel_class IN ('*', k.kernel_class, k.operator_name) AND k.backend = a.backend
    INNER JOIN precision_classes AS p ON e.precision_class = '*' OR e.precision_class = p.precision_class
    INNER JOIN formats AS f ON e.memory_format = '*' OR e.memory_format = f.memory_format
)

SELECT
    hardware,
    backend,
    -- Class of the kernel's anchor.
    kernel_class,
    -- ATen operator of the anchor where that has rows of its own, or `*`.
    operator_name,
    -- Element type with rows of its own, or `*`.
    precision_class,
    memory_format,
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
    -- Of a unit's fair share of the peak bandwidth, what one thread reaches while the others idle; null where unknown.
    MAX_BY(maximum_fraction, CASE WHEN resource = 'thread' THEN specificity END) AS thread_fraction,
    -- Bytes a unit would move at the peak in the time in which a team of threads begins and ends; null where unknown.
    -- [byte]
    MAX_BY(half_work, CASE WHEN resource = 'thread' THEN specificity END) AS team_byte,
    -- Row of `efficiency` behind matrix: scope, class, backend, precision, format; source and confidence.
    MAX_BY(basis, CASE WHEN resource = 'matrix' THEN specificity END) AS matrix_basis,
    -- Row of `efficiency` behind vector: scope, class, backend, precision, format; source and confidence.
    MAX_BY(basis, CASE WHEN resource = 'vector' THEN specificity END) AS vector_basis,
    -- Row of `efficiency` behind memory: scope, class, backend, precision, format; source and confidence.
    MAX_BY(basis, CASE WHEN resource = 'memory' THEN specificity END) AS memory_basis,
    -- Row of `efficiency` behind overlap: scope, class, backend, precision, format; source and confidence.
    MAX_BY(basis, CASE WHEN resource = 'overlap' THEN specificity END) AS overlap_basis,
    -- Row of `efficiency` behind residency: scope, class, backend, precision, format; source and confidence.
    MAX_BY(basis, CASE WHEN resource = 'residency' THEN specificity END) AS residency_basis,
    -- Row of `efficiency` behind reorder: scope, class, backend, precision, format; source and confidence; null where
    -- weights are used as they lie.
    MAX_BY(basis, CASE WHEN resource = 'reorder' THEN specificity END) AS reorder_basis,
    -- Row of `efficiency` behind paging: scope, class, backend, precision, format; source and confidence; null where
    -- memory is kept from run to run.
    MAX_BY(basis, CASE WHEN resource = 'paging' THEN specificity END) AS paging_basis,
    -- Row of `efficiency` behind thread: scope, class, backend, precision, format; source and confidence; null where
    -- nothing is known of threads.
    MAX_BY(basis, CASE WHEN resource = 'thread' THEN specificity END) AS thread_basis
FROM matching_rows
GROUP BY hardware, backend, kernel_class, operator_name, precision_class, memory_format

