-- The efficiency row that holds for a part, backend, kernel class, precision and memory format: the most
-- specific one, scope first (the part's own, its architecture's, its family's, any), then class,
-- backend, precision and format. Precisions without a row of their own share the class `*`.
-- Grain: hardware_id, backend, kernel_class, precision, memory_format, resource
CREATE VIEW efficiency_choice (
    -- Part.
    hardware_id,
    -- Backend.
    backend,
    -- Class of the kernel's anchor.
    kernel_class,
    -- Element type of the kernel.
    precision,
    -- `nchw` or `nhwc`.
    memory_format,
    -- `matrix`, `vector` or `memory`.
    resource,
    -- Share of the peak reached by a large kernel.
    maximum_fraction,
    -- Work a unit at which half of that is reached: operations, or bytes for memory.
    half_work,
    -- How far the row can be trusted.
    confidence
) AS
WITH scoped_rows AS (
    SELECT h.hardware_id, e.*, 3 AS scope_rank
    FROM efficiency AS e
    INNER JOIN hardware AS h ON e.scope = CONCAT('hardware:', h.hardware_id)
    UNION ALL
    SELECT h.hardware_id, e.*, 2 AS scope_rank
    FROM efficiency AS e
    INNER JOIN hardware AS h ON e.scope = CONCAT('architecture:', h.architecture)
    UNION ALL
    SELECT h.hardware_id, e.*, 1 AS scope_rank
    FROM efficiency AS e
    INNER JOIN hardware AS h ON e.scope = CONCAT('family:', h.family)
    UNION ALL
    SELECT h.hardware_id, e.*, 0 AS scope_rank
    FROM efficiency AS e
    INNER JOIN hardware AS h ON e.scope = '*'
),

kernel_classes AS (
    SELECT DISTINCT backend, kernel_class FROM subgraph
    UNION
    SELECT backend, 'cast' AS kernel_class FROM backend
),

precision_classes AS (
    SELECT p.precision, MAX(CASE WHEN e.precision_class = p.precision THEN p.precision ELSE '*' END) AS precision_class
    FROM precision AS p
    CROSS JOIN (SELECT DISTINCT precision_class FROM efficiency) AS e
    GROUP BY p.precision
),

matching_rows AS (
    SELECT
        s.hardware_id,
        k.backend,
        k.kernel_class,
        p.precision_class,
        f.memory_format,
        s.resource,
        s.maximum_fraction,
        s.half_work,
        s.confidence,
        s.scope_rank * 100
        + CASE WHEN s.kernel_class = '*' THEN 0 ELSE 16 END
        + CASE WHEN s.backend = '*' THEN 0 ELSE 8 END
        + CASE WHEN s.precision_class = '*' THEN 0 ELSE 4 END
        + CASE WHEN s.memory_format = '*' THEN 0 ELSE 2 END AS specificity
    FROM scoped_rows AS s
    INNER JOIN kernel_classes AS k
        ON (s.kernel_class = '*' OR s.kernel_class = k.kernel_class) AND (s.backend = '*' OR s.backend = k.backend)
    INNER JOIN (SELECT DISTINCT precision_class FROM precision_classes) AS p
        ON s.precision_class = '*' OR s.precision_class = p.precision_class
    INNER JOIN (SELECT 'nchw' AS memory_format UNION ALL SELECT 'nhwc' AS memory_format) AS f
        ON s.memory_format = '*' OR s.memory_format = f.memory_format
),

most_specific AS (
    SELECT
        hardware_id,
        backend,
        kernel_class,
        precision_class,
        memory_format,
        resource,
        MAX_BY(maximum_fraction, specificity) AS maximum_fraction,
        MAX_BY(half_work, specificity) AS half_work,
        MAX_BY(confidence, specificity) AS confidence
    FROM matching_rows
    GROUP BY hardware_id, backend, kernel_class, precision_class, memory_format, resource
)

SELECT
    m.hardware_id,
    m.backend,
    m.kernel_class,
    p.precision,
    m.memory_format,
    m.resource,
    m.maximum_fraction,
    m.half_work,
    m.confidence
FROM most_specific AS m
INNER JOIN precision_classes AS p ON p.precision_class = m.precision_class
