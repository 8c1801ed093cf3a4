-- Distinct shapes among the kernels of a run, each once, without what depends on the memory of a device.
-- Grain: run, shape_id
CREATE VIEW run_shape AS
WITH kernel_counts AS (
    SELECT run, shape_id, COUNT(*) AS kernel_count, SUM(view_count) AS view_count
    FROM shaped_kernel
    GROUP BY run, shape_id
)

SELECT
    s.run,
    s.shape_id,
    -- Number of kernels of the shape in the run.
    CAST(c.kernel_count AS BIGINT) AS kernel_count,
    -- Number of views that the host dispatches before the shape's kernels.
    CAST(c.view_count AS BIGINT) AS view_count,
    s.memory_format,
    s.cache_state,
    s.kernel_class,
    s.operator_name,
    s.compute_precision,
    s.layout,
    s.input_byte,
    s.weight_byte,
    s.kv_cache_byte,
    s.output_byte,
    s.produced_byte,
    s.traffic_byte,
    s.loop_elements,
    s.macs,
    s.flops,
    s.threads,
    s.accesses,
    s.rounds,
    s.row_count,
    s.step_count,
    s.product_count,
    s.query_count,
    s.query_heads,
    -- True if PyTorch on a processor computes the convolution as its own matrix product instead of calling oneDNN.
    COALESCE(s.is_native, FALSE) AS is_native,
    -- True if ATen copies a channels-last image, because it does not recognize the format.
    COALESCE(s.is_misread, FALSE) AS is_misread,
    -- Algorithm of a GPU library (`depthwise_call`, `convolution_call`); null for the algorithm that the layout's efficiency rows describe.
    s.algorithm,
    -- True if a linear layer has rows so long that loading an operand drops the other one from the first-level cache (`linear_call`).
    COALESCE(s.is_aliased, FALSE) AS is_aliased,
    s.convolution_reorder_byte,
    s.linear_reorder_byte,
    s.converted_byte,
    s.nchw_elements,
    s.nchw_byte,
    -- Size of the fresh pages that the operating system of a processor supplies to the kernel. [byte]
    s.fault_byte,
    -- Number of chunks of prompts for which the kernel runs one after another.
    s.chunk_count,
    s.launch_s,
    s.launch_share,
    -- Bytes of operands and results that a server converts around the call of a library. [byte]
    s.operand_byte,
    -- Bytes read and written to unpack weights: packed weights are read, 16-bit weights are written. [byte]
    s.unpacked_byte,
    -- Bytes read and written for attention scores. [byte]
    s.score_byte,
    s.reread_cache_byte,
    s.kv_precision,
    s.cache_convert_ops,
    s.fault
FROM shaped_kernel AS s
INNER JOIN kernel_counts AS c ON c.run = s.run AND c.shape_id = s.kernel_id
