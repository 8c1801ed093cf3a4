-- Every distinct shape on every part that can run the shape, with the part's numbers and the efficiencies that apply.
-- Grain: run, shape_id, hardware
CREATE VIEW shape_target AS
WITH placed_shapes AS (
    SELECT
        s.* EXCLUDE (fault),
        -- Numbers of the whole run are joined where its clock is chosen (`clock_step`).
        t.* EXCLUDE (
            backend, precision, fault, tile_fault, dispatch, host_kernel_s, host_view_s, call_s, is_simulated, dense_ops_per_s, tdp_w, static_w,
            clocking_w, standby_w, default_clock_fraction, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling, clock_floor,
            default_precision, calls_aten, main_memory_byte, has_host_link, host_link_byte_per_s, host_link_s, least_w
        ),
        COALESCE(t.fault, s.fault, CASE WHEN s.product_count > 0 THEN t.tile_fault END) AS known_fault,
        -- PyTorch's libraries choose layouts and algorithms (`convolution_call`, `depthwise_call`, `linear_call`).
        CASE
            WHEN t.reads_channels_last AND s.kernel_class = 'conv' AND s.compute_precision <> 'fp32' AND s.layout = 'nchw' THEN 'nhwc'
            WHEN t.family = 'gpu' AND s.converted_byte > 0e0 AND NOT (t.reads_channels_last AND s.nchw_elements > 0e0) THEN 'nchw'
            WHEN t.family = 'gpu' AND s.algorithm IS NOT NULL THEN CONCAT(s.layout, '_', s.algorithm)
            WHEN t.family = 'cpu' AND s.is_misread THEN 'strided'
            WHEN t.family = 'cpu' AND s.is_aliased AND t.vendor = 'intel' THEN 'aliased'
            ELSE s.layout
        END AS executed_layout,
        COALESCE(o.operator_name, '*') AS efficiency_name,
        p.precision_class
    FROM shape AS s
    INNER JOIN part_support AS t
        ON t.backend = s.run.backend AND t.precision = s.run.precision AND (t.bias_is_kernel OR s.kernel_class <> 'bias')
    INNER JOIN efficiency_precision AS p ON p.compute_precision = s.compute_precision
    LEFT JOIN efficiency_operator AS o ON o.kernel_class = s.kernel_class
        AND o.operator_name
        = CASE WHEN t.family = 'cpu' AND s.is_native THEN 'aten._slow_conv2d_forward' ELSE s.operator_name END
)

SELECT
    s.* EXCLUDE (layout, operator_name, executed_layout, efficiency_name, is_native, is_misread, algorithm, is_aliased, known_fault, efficiency_chain),
    -- Layout of the anchor's tensors in memory: `nchw`, `nhwc` or `strided`; on Intel's processors also `aliased` (`linear_call`);
    -- on GPUs also `nchw_own`, `nchw_wide`, `nhwc_wide` or `nhwc_large` (`depthwise_call`, `convolution_call`).
    s.executed_layout AS layout,
    -- ATen operator of the anchor if `efficiency` has rows for the operator, else `*`; `aten._slow_conv2d_forward` for a
    -- convolution that PyTorch on a processor runs as its own matrix product.
    s.efficiency_name AS operator_name,
    e.matrix_fraction,
    e.matrix_half_ops,
    e.vector_fraction,
    e.vector_half_ops,
    e.memory_fraction,
    e.memory_half_byte,
    e.overlap_fraction,
    e.residency_fraction,
    e.reorder_fraction,
    e.paging_fraction,
    e.thread_fraction,
    e.team_ratio,
    e.flight_fraction,
    -- Impossible number of the part, the run or a rule, because of which the shape has no answer; else null.
    COALESCE(
        s.known_fault,
        CASE WHEN e.faulty_efficiency_id IS NOT NULL THEN CONCAT('efficiency.', CAST(e.faulty_efficiency_id AS VARCHAR)) END
    ) AS number_fault
FROM placed_shapes AS s
INNER JOIN chain_efficiency AS e
    ON e.efficiency_chain = s.efficiency_chain AND e.kernel_class = s.kernel_class
    AND e.operator_name = s.efficiency_name AND e.precision_class = s.precision_class AND e.layout = s.executed_layout
