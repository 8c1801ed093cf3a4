-- Kernels whose work a server does in the kernel before them, or in that of another product (`engine_version.merges_kernels`):
-- kernels without products that follow such a kernel, and linear layers that read a tensor which an earlier one reads, whose weights
-- are stored side by side. They have no launch of their own.
-- Grain: model, backend, kernel_id
CREATE VIEW merged_kernel AS
WITH ordered_kernels AS (
    SELECT
        k.model,
        k.backend,
        k.kernel_id,
        k.kernel_class,
        c.is_matrix,
        LAG(c.is_matrix) OVER (PARTITION BY k.model, k.backend ORDER BY k.kernel_id) AS is_after_product
    FROM kernel AS k
    INNER JOIN backend AS b ON b.backend = k.backend AND b.serves
    INNER JOIN operator_class AS c ON c.operator_class = k.kernel_class
    WHERE NOT k.is_prompt_only
),

linear_reads AS (
    SELECT
        k.model,
        k.backend,
        k.kernel_id,
        ROW_NUMBER() OVER (PARTITION BY k.model, k.backend, t.tensor_id ORDER BY k.kernel_id) AS place
    FROM ordered_kernels AS k
    INNER JOIN kernel_tensor AS t
        ON t.model = k.model AND t.backend = k.backend AND t.kernel_id = k.kernel_id AND t.direction = 'read' AND t.role = 'input'
    WHERE k.kernel_class = 'linear'
)

SELECT model, backend, kernel_id
FROM ordered_kernels
WHERE NOT is_matrix AND NOT is_after_product
UNION
SELECT model, backend, kernel_id
FROM linear_reads
WHERE place > 1
