-- Every kernel of a run with all properties that its cost depends on. Kernels of a run with equal properties cost the same and
-- share a shape, whose number is that of the first of these kernels. Properties are compared by a hash of 64 bits: in a run with a
-- thousand kernels, a collision has a chance of 1 in 4e13.
-- Grain: run, kernel_id
CREATE VIEW shaped_kernel AS
WITH step_sums AS (
    SELECT
        run,
        kernel_id,
        SUM(model_macs) AS macs,
        SUM(model_flops) AS flops,
        MAX(threads) AS threads,
        MAX(accesses) AS accesses,
        SUM(rounds) AS rounds,
        SUM(row_count) AS row_count,
        MAX(CASE WHEN operator_class = 'attention' AND step = 'qk' THEN sharing END) AS sharing,
        COUNT(*) AS step_count,
        SUM(CASE WHEN step_class = 'gemm' THEN 1 ELSE 0 END) AS product_count,
        MAX(CASE WHEN operator_class = 'attention' AND step = 'qk' THEN m / NULLIF(sharing, 0e0) END) AS query_count,
        MAX(CASE WHEN operator_class = 'attention' AND step = 'qk' THEN gemm_count * sharing END) AS query_heads,
        BIT_XOR(
            HASH(
                step_id, operator_class, step, step_class, compute_precision, macs, flops, model_macs, model_flops, threads, accesses, m,
                n, k, gemm_count, rounds, row_count, sharing
            )
        ) AS steps
    FROM executed_step
    GROUP BY run, kernel_id
),

chain_sums AS (
    SELECT run, kernel_id, STRING_AGG(CAST(held_byte AS VARCHAR), ';' ORDER BY tensor_id) AS links
    FROM chain_tensor
    GROUP BY run, kernel_id
),

wide_kernels AS (
    SELECT
        r.run,
        r.memory_format,
        r.cache_state,
        r.fault,
        r.chunk_count,
        CASE WHEN g.kernel_id IS NULL THEN r.launch_s ELSE 0e0 END AS launch_s,
        CASE
            WHEN g.kernel_id IS NOT NULL THEN 0e0
            WHEN r.quantizes_apart AND p.bits <= 8 AND w.kernel_class = 'linear' THEN CASE WHEN p.bits <= 4 THEN 3e0 ELSE 2e0 END
            ELSE 1e0
        END AS launch_share,
        w.* EXCLUDE (run),
        w.loop_byte * 8e0 / NULLIF(p.bits, 0) AS loop_elements,
        COALESCE(s.macs, 0e0) AS macs,
        COALESCE(s.flops, 0e0) AS flops,
        COALESCE(s.threads, 0e0) AS threads,
        COALESCE(s.accesses, 0e0) AS accesses,
        COALESCE(s.rounds, 0e0) AS rounds,
        COALESCE(s.row_count, 0e0) AS row_count,
        CAST(COALESCE(s.step_count, 0) AS BIGINT) AS step_count,
        CAST(COALESCE(s.product_count, 0) AS BIGINT) AS product_count,
        s.query_count,
        s.query_heads,
        v.is_native,
        v.is_misread,
        COALESCE(h.algorithm, v.algorithm) AS algorithm,
        l.is_aliased,
        COALESCE(v.reorder_byte, 0e0) AS convolution_reorder_byte,
        COALESCE(l.reorder_byte, 0e0) AS linear_reorder_byte,
        COALESCE(v.converted_byte, 0e0) AS converted_byte,
        COALESCE(v.nchw_elements, 0e0) AS nchw_elements,
        COALESCE(v.nchw_byte, 0e0) AS nchw_byte,
        COALESCE(f.fault_byte, 0e0) AS fault_byte,
        COALESCE(b.operand_byte, 0e0) AS operand_byte,
        COALESCE(b.unpacked_byte, 0e0) AS unpacked_byte,
        COALESCE(b.score_byte, 0e0) AS score_byte,
        CASE WHEN r.phase = 'decode' THEN COALESCE(w.kv_cache_byte * (s.sharing * r.paged_ratio - 1e0), 0e0) ELSE 0e0 END AS reread_cache_byte,
        r.kv_precision,
        CASE
            WHEN r.phase = 'decode' AND r.kv_bits IS NOT NULL
                THEN COALESCE(w.kv_cache_byte * 8e0 / NULLIF(r.kv_bits, 0) * s.sharing * r.convert_ops, 0e0)
            ELSE 0e0
        END AS cache_convert_ops,
        HASH(
            w.kernel_class, w.operator_name, w.compute_precision, w.layout, w.input_byte, w.weight_byte, w.kv_cache_byte,
            w.output_byte, w.produced_byte, w.loop_byte, s.steps, c.links, v.is_native, v.is_misread, h.algorithm, v.algorithm, l.is_aliased,
            COALESCE(v.reorder_byte, 0e0), COALESCE(l.reorder_byte, 0e0), COALESCE(v.converted_byte, 0e0), COALESCE(v.nchw_elements, 0e0),
            COALESCE(f.fault_byte, 0e0), COALESCE(b.operand_byte, 0e0),
            COALESCE(b.unpacked_byte, 0e0), COALESCE(b.score_byte, 0e0), g.kernel_id IS NULL
        ) AS cost_hash
    FROM run AS r
    INNER JOIN executed_kernel AS w ON w.run = r.run
    INNER JOIN precision AS p ON p.precision = w.compute_precision
    LEFT JOIN step_sums AS s ON s.run = w.run AND s.kernel_id = w.kernel_id
    LEFT JOIN chain_sums AS c ON c.run = w.run AND c.kernel_id = w.kernel_id
    LEFT JOIN convolution_call AS v ON v.run = w.run AND v.kernel_id = w.kernel_id
    LEFT JOIN depthwise_call AS h ON h.run = w.run AND h.kernel_id = w.kernel_id
    LEFT JOIN linear_call AS l ON l.run = w.run AND l.kernel_id = w.kernel_id
    LEFT JOIN library_call AS b ON b.run = w.run AND b.kernel_id = w.kernel_id
    LEFT JOIN page_fault AS f ON f.run = w.run AND f.kernel_id = w.kernel_id
    LEFT JOIN merged_kernel AS g
        ON g.model = w.run.model AND g.backend = w.run.backend AND g.kernel_id = w.fused_kernel_id AND r.merges_kernels
),

first_kernels AS (
    SELECT run, cost_hash, MIN(kernel_id) AS shape_id
    FROM wide_kernels
    GROUP BY run, cost_hash
)

SELECT
    k.* EXCLUDE (
        cost_hash, loop_elements, step_count, product_count, query_count, query_heads, convolution_reorder_byte,
        linear_reorder_byte, converted_byte, nchw_elements, nchw_byte, reread_cache_byte, cache_convert_ops, launch_s, launch_share
    ),
    -- Time to launch the kernel by the version of the backend; 0 for a kernel that another one's launch includes. [s]
    k.launch_s,
    -- Number of launches: 1, or 0 for a kernel that another one's launch includes; 2 for a linear layer whose activations another kernel
    -- scales (`engine_version.quantizes_apart`), 3 if a third orders the scales of blocks of 4 bits.
    k.launch_share,
    -- Elements of the kernel's loop: of the largest tensor read or written other than weights.
    k.loop_elements,
    -- Number of steps of the kernel's operators.
    k.step_count,
    -- Number of matrix products among the kernel's steps.
    k.product_count,
    -- Number of queries of the kernel's attention; null without attention.
    k.query_count,
    -- Number of query heads; null without attention.
    k.query_heads,
    -- Bytes of keys and values read again if each query head reads them separately. [byte]
    k.reread_cache_byte,
    -- Number of operations that convert the KV cache to the format of the arithmetic, on parts that do not compute in the cache's
    -- format.
    k.cache_convert_ops,
    -- Bytes that a convolution on a processor reads and writes to reorder tensors. [byte]
    k.convolution_reorder_byte,
    -- Bytes written and read back to fill every row of a linear layer's result with the bias on a processor. [byte]
    k.linear_reorder_byte,
    -- Bytes that a convolution on a GPU reads and writes to convert the memory format of image and result. [byte]
    k.converted_byte,
    -- Elements that a convolution on a GPU converts from nchw for matrix units that read channels last.
    k.nchw_elements,
    -- Bytes that this conversion reads and writes. [byte]
    k.nchw_byte,
    f.shape_id
FROM wide_kernels AS k
INNER JOIN first_kernels AS f ON f.run = k.run AND f.cost_hash = k.cost_hash
