-- Parts and backends without a row of `efficiency` for some resource of some kernel class. Answers for such a part and backend are
-- null, because an unknown efficiency must not make a part faster.
-- Grain: hardware, backend
CREATE VIEW missing_efficiency AS
WITH counted_rows AS (
    SELECT
        efficiency_chain,
        COUNT(*) AS row_count,
        COUNT(matrix_fraction + matrix_half_ops) AS matrix_count,
        COUNT(vector_fraction + vector_half_ops) AS vector_count,
        COUNT(memory_fraction + memory_half_byte) AS memory_count,
        COUNT(overlap_fraction) AS overlap_count,
        COUNT(residency_fraction) AS residency_count
    FROM chain_efficiency
    GROUP BY efficiency_chain
),

named_resources AS (
    SELECT
        b.hardware,
        b.backend,
        CASE
            WHEN c.efficiency_chain IS NULL THEN 'any resource'
            WHEN c.matrix_count < c.row_count THEN 'matrix'
            WHEN c.vector_count < c.row_count THEN 'vector'
            WHEN c.memory_count < c.row_count THEN 'memory'
            WHEN c.overlap_count < c.row_count THEN 'overlap'
            WHEN c.residency_count < c.row_count THEN 'residency'
        END AS resource
    FROM part_backend AS b
    LEFT JOIN counted_rows AS c ON c.efficiency_chain = b.efficiency_chain
)

SELECT
    hardware,
    backend,
    -- First resource of `efficiency` without a row.
    resource
FROM named_resources
WHERE resource IS NOT NULL
