-- Bytes that an inference server with single-precision activations writes and reads around calls of a library for products
-- (llama.cpp: cuBLAS above a few tokens per step): packed weights expanded to 16 bits, converted operands and results, and
-- attention scores, because attention is not fused (scores are written, read and written by the softmax, converted, and read).
-- Backends that keep activations in the policy's format have no rows.
-- Grain: run, kernel_id
CREATE VIEW library_call AS
WITH products AS (
    SELECT
        run,
        kernel_id,
        SUM(CASE WHEN operator_class NOT IN ('attention', 'recurrence') THEN n * k * gemm_count ELSE 0e0 END) AS weight_elements,
        SUM(CASE WHEN operator_class = 'attention' AND step = 'qk' THEN m * n * gemm_count ELSE 0e0 END) AS score_elements
    FROM executed_step
    WHERE step_class = 'gemm'
    GROUP BY run, kernel_id
)

SELECT
    w.run,
    w.kernel_id,
    -- Bytes read and written for attention scores. [byte]
    p.score_elements * (4e0 * r.activation_bits + 32e0) / 8e0 AS score_byte,
    -- Bytes read and written to convert operands and results around the call. [byte]
    CASE
        WHEN p.weight_elements = 0e0 OR r.run.batch * r.run.sequence <= c.value THEN 0e0
        ELSE (w.input_byte + w.output_byte) * (r.activation_bits + 16e0) / NULLIF(r.activation_bits, 0)
    END AS operand_byte,
    -- Bytes read and written to unpack weights: packed weights are read, 16-bit weights are written. [byte]
    CASE
        WHEN r.run.batch * r.run.sequence <= c.value OR w.weight_byte >= 2e0 * p.weight_elements THEN 0e0
        ELSE w.weight_byte + 2e0 * p.weight_elements
    END AS unpacked_byte
FROM run AS r
INNER JOIN executed_kernel AS w ON w.run = r.run
INNER JOIN products AS p ON p.run = w.run AND p.kernel_id = w.kernel_id
INNER JOIN library_constant AS c ON c.library_constant = 'own_product_tokens'
WHERE r.activation_bits IS NOT NULL
