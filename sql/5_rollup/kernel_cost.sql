-- Every kernel of every run on every part: the kernel's position in the run and the cost of the kernel's shape.
-- Term: issue, host, , , , host_issue_s,
-- Grain: run, hardware, kernel_id
CREATE VIEW kernel_cost AS
SELECT
    s.* EXCLUDE (voltage_square, kernel_count, launch_count, device_count, exchange_s, view_count, host_kernel_s, host_view_s),
    k.kernel_id,
    k.position,
    k.fused_kernel_id,
    k.kernel,
    k.anchor_operator_id,
    k.operator,
    k.module,
    k.operator_count,
    k.view_count,
    -- Host time to issue the kernel and the views before it; 0 where one launch starts all kernels. [s]
    CASE
        WHEN s.dispatch = 'graph' THEN 0e0
        ELSE (s.host_kernel_s + k.view_count * s.host_view_s) * s.host_factor
    END AS host_issue_s
FROM run_kernel AS k
INNER JOIN clocked_shape AS s ON s.run = k.run AND s.shape_id = k.shape_id
WHERE s.device_count = 1
