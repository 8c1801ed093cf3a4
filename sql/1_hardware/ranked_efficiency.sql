-- Rows of `efficiency`, each repeated for every kernel class, element type and layout that the row matches, independent of the
-- part.
-- Grain: efficiency_id, kernel_class, operator_name, precision_class, layout
CREATE VIEW ranked_efficiency AS
WITH kernel_classes AS (
    SELECT operator_class AS kernel_class, '*' AS operator_name FROM operator_class
    UNION
    SELECT kernel_class, operator_name FROM efficiency
    WHERE kernel_class <> '*'
),

precision_classes AS (
    SELECT DISTINCT precision_class FROM efficiency
),

layouts AS (
    SELECT 'nchw' AS layout
    UNION ALL
    SELECT 'nhwc' AS layout
    UNION ALL
    SELECT 'strided' AS layout
    UNION ALL
    SELECT 'aliased' AS layout
    UNION ALL
    SELECT 'nchw_own' AS layout
    UNION ALL
    SELECT 'nchw_wide' AS layout
    UNION ALL
    SELECT 'nhwc_wide' AS layout
    UNION ALL
    SELECT 'nhwc_large' AS layout
),

faulty_rows AS (
    SELECT DISTINCT row_key FROM rule_fault
    WHERE kind = 'efficiency' AND NOT is_possible
)

SELECT
    e.efficiency_id,
    e.scope,
    -- Backend of the row, or `*`.
    e.backend AS row_backend,
    e.resource,
    e.maximum_fraction,
    e.half_work,
    -- Class of the kernel's anchor.
    k.kernel_class,
    -- ATen operator of the anchor if `efficiency` has rows for the operator, else `*`.
    k.operator_name,
    -- Element type if `efficiency` has rows for the type, else `*`.
    p.precision_class,
    -- Layout of the anchor's tensors in memory: `nchw`, `nhwc`, `strided`, `aliased`, `nchw_own`, `nchw_wide`, `nhwc_wide`
    -- or `nhwc_large`.
    f.layout,
    -- Rank of the row by operator, class, precision and format; the row with the highest rank applies.
    CAST(
        CASE WHEN e.operator_name <> '*' THEN 64 WHEN e.kernel_class <> '*' THEN 32 ELSE 0 END
        + CASE WHEN e.precision_class = '*' THEN 0 ELSE 4 END
        + CASE WHEN e.memory_format = '*' THEN 0 ELSE 2 END
        AS BIGINT
    ) AS row_rank,
    -- Number of the row; negative if the row contains an impossible number (`rule_fault`), so that views that read the number know
    -- of the fault.
    CASE WHEN b.row_key IS NULL THEN e.efficiency_id ELSE -e.efficiency_id END AS signed_id
FROM efficiency AS e
INNER JOIN kernel_classes AS k
    ON e.kernel_class IN ('*', k.kernel_class) AND e.operator_name IN ('*', k.operator_name)
INNER JOIN precision_classes AS p ON e.precision_class IN ('*', p.precision_class)
INNER JOIN layouts AS f ON e.memory_format IN ('*', f.layout)
LEFT JOIN faulty_rows AS b ON b.row_key = CAST(e.efficiency_id AS VARCHAR)
