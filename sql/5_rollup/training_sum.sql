-- Device time of a training run, divided by pass, by position of the kernels (before, in or after the layers), and by their
-- treatment on several devices. Values are sums over all layers; outside of the layers, over both passes.
-- Grain: run, hardware
CREATE VIEW training_sum AS
SELECT
    k.run,
    s.hardware,
    -- Time of the layers' forward pass in kernels that tensor parallelism splits. [s]
    SUM(CASE WHEN k.place = 'block' AND NOT k.is_backward AND k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS forward_split_s,
    -- Time of the layers' forward pass in other kernels. [s]
    SUM(CASE WHEN k.place = 'block' AND NOT k.is_backward AND NOT k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS forward_whole_s,
    -- Time of the layers' backward pass in kernels that tensor parallelism splits. [s]
    SUM(CASE WHEN k.place = 'block' AND k.is_backward AND k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS backward_split_s,
    -- Time of the layers' backward pass in other kernels. [s]
    SUM(CASE WHEN k.place = 'block' AND k.is_backward AND NOT k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS backward_whole_s,
    -- Part of the layers' backward pass in products with weights, half of which computes the gradients of weights. [s]
    SUM(CASE WHEN k.place = 'block' AND k.is_backward AND k.is_weighted THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS backward_weighted_s,
    -- Time of the attention cores in the forward pass. [s]
    SUM(CASE WHEN k.place = 'block' AND NOT k.is_backward AND k.is_core THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS forward_core_s,
    -- Time of the attention cores in the backward pass. [s]
    SUM(CASE WHEN k.place = 'block' AND k.is_backward AND k.is_core THEN k.kernel_count * s.device_s ELSE 0e0 END)
        AS backward_core_s,
    -- Time of the kernels before the layers that tensor parallelism splits. [s]
    SUM(CASE WHEN k.place = 'first' AND k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END) AS first_split_s,
    -- Time of the kernels before the layers that tensor parallelism does not split. [s]
    SUM(CASE WHEN k.place = 'first' AND NOT k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END) AS first_whole_s,
    -- Time of the kernels after the layers that tensor parallelism splits. [s]
    SUM(CASE WHEN k.place = 'last' AND k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END) AS last_split_s,
    -- Time of the kernels after the layers that tensor parallelism does not split. [s]
    SUM(CASE WHEN k.place = 'last' AND NOT k.is_split THEN k.kernel_count * s.device_s ELSE 0e0 END) AS last_whole_s,
    -- Host time to issue the forward pass of the layers; 0 where one launch starts all kernels. [s]
    SUM(
        CASE
            WHEN k.place <> 'block' OR k.is_backward OR s.dispatch = 'graph' THEN 0e0
            ELSE (k.kernel_count * s.host_kernel_s + k.view_count * s.host_view_s) * s.host_factor
        END
    ) AS forward_host_s,
    -- Host time to issue the backward pass of the layers; 0 where one launch starts all kernels. [s]
    SUM(
        CASE
            WHEN k.place <> 'block' OR NOT k.is_backward OR s.dispatch = 'graph' THEN 0e0
            ELSE (k.kernel_count * s.host_kernel_s + k.view_count * s.host_view_s) * s.host_factor
        END
    ) AS backward_host_s,
    -- Host time to issue both passes of the kernels outside of the layers; 0 where one launch starts all kernels. [s]
    SUM(
        CASE
            WHEN k.place = 'block' OR s.dispatch = 'graph' THEN 0e0
            ELSE (k.kernel_count * s.host_kernel_s + k.view_count * s.host_view_s) * s.host_factor
        END
    ) AS end_host_s,
    -- Energy of arithmetic and traffic of both passes; null when a coefficient is missing. [J]
    SUM(k.kernel_count * s.dynamic_energy_j) + CASE WHEN COUNT(*) > COUNT(s.dynamic_energy_j) THEN NULL ELSE 0e0 END
        AS dynamic_energy_j,
    -- Part of `dynamic_energy_j` in the forward pass of the layers; null when a coefficient is missing. [J]
    SUM(CASE WHEN k.place = 'block' AND NOT k.is_backward THEN k.kernel_count * s.dynamic_energy_j ELSE 0e0 END)
    + CASE WHEN COUNT(*) > COUNT(s.dynamic_energy_j) THEN NULL ELSE 0e0 END AS forward_energy_j,
    -- Host time of the run's call. [s]
    MAX(s.run_call_s) AS run_call_s,
    MAX(s.static_w) AS static_w,
    MAX(s.dram_byte_per_s) AS dram_byte_per_s,
    MAX(s.dense_ops_per_s) AS dense_ops_per_s,
    -- Impossible number that makes the answer null; else null.
    MAX(s.fault) AS fault
FROM trained_kernel AS k
INNER JOIN clocked_shape AS s ON s.run = k.run AND s.shape_id = k.shape_id GROUP BY k.run, s.hardware
