-- Device time of a prefill or decode run on one of the devices that share it by tensor parallelism, divided by the position of its
-- kernels (before, in or after the layers) and by their treatment in a split. Times of the layers are sums over all layers.
-- Grain: run, hardware
CREATE VIEW served_sum AS
WITH placed_shapes AS (
    SELECT
        k.run,
        s.hardware,
        k.place,
        k.is_core,
        k.is_expert AND k.is_weighted AS is_expert,
        k.kernel_count * (
            s.kernel_count * s.device_s + (s.launch_count - s.kernel_count) * s.kernel_gap_s
        ) / NULLIF(s.launch_count, 0) AS placed_s,
        k.kernel_count * s.kernel_count / NULLIF(CAST(s.launch_count AS DOUBLE), 0e0) * (s.busy_s - s.team_s) AS working_s,
        k.kernel_count * s.kernel_count / NULLIF(CAST(s.launch_count AS DOUBLE), 0e0) AS share_count,
        s.is_power_bound OR s.compute_s >= s.memory_s AS is_arithmetic,
        s.compute_s,
        s.weight_byte,
        s.kv_cache_byte,
        s.traffic_byte,
        k.held_byte * s.kernel_count / NULLIF(CAST(s.launch_count AS DOUBLE), 0e0) AS held_byte,
        k.kernel_count * s.host_kernel_s * s.host_factor + k.view_count * s.host_view_s * s.host_factor AS issue_s,
        s.device_count * s.dynamic_energy_j AS kernel_j,
        s.run_call_s,
        s.exchange_s,
        s.static_w,
        s.dispatch,
        s.fault
    FROM placed_kernel AS k
    INNER JOIN run AS r ON r.run = k.run AND r.phase IN ('prefill', 'decode')
    INNER JOIN clocked_shape AS s ON s.run = k.run AND s.shape_id = k.shape_id
)

SELECT
    run,
    hardware,
    -- Time of the kernels of all layers. [s]
    SUM(CASE WHEN place = 'block' THEN placed_s ELSE 0e0 END) AS layer_s,
    -- Part of `layer_s` in attention cores (scores, softmax and weighted values). [s]
    SUM(CASE WHEN place = 'block' AND is_core THEN placed_s ELSE 0e0 END) AS core_s,
    -- Time of the kernels before the layers. [s]
    SUM(CASE WHEN place = 'first' THEN placed_s ELSE 0e0 END) AS first_s,
    -- Time of the kernels after the layers. [s]
    SUM(CASE WHEN place = 'last' THEN placed_s ELSE 0e0 END) AS last_s,
    -- Part of `layer_s` in which arithmetic or the power limit sets the pace. [s]
    SUM(CASE WHEN place = 'block' AND is_arithmetic THEN working_s ELSE 0e0 END) AS compute_s,
    -- Part of `layer_s` in which weights are read. [s]
    SUM(CASE WHEN place = 'block' AND NOT is_arithmetic THEN working_s * weight_byte / NULLIF(traffic_byte, 0e0) ELSE 0e0 END)
        AS weight_s,
    -- Part of `layer_s` in which the KV cache is read. [s]
    SUM(CASE WHEN place = 'block' AND NOT is_arithmetic THEN working_s * kv_cache_byte / NULLIF(traffic_byte, 0e0) ELSE 0e0 END)
        AS cache_s,
    -- Part of `weight_s` in which experts' weights are read. [s]
    SUM(CASE WHEN is_expert AND NOT is_arithmetic THEN working_s * weight_byte / NULLIF(traffic_byte, 0e0) ELSE 0e0 END)
        AS expert_read_s,
    -- Largest time that these kernels can save by reading fewer weights; the rest is bound by arithmetic. [s]
    SUM(CASE WHEN is_expert AND NOT is_arithmetic THEN GREATEST(0e0, working_s - share_count * compute_s) ELSE 0e0 END)
        AS expert_slack_s,
    -- Bytes of experts' weights that the run reads. [byte]
    SUM(CASE WHEN is_expert THEN share_count * weight_byte ELSE 0e0 END) AS expert_read_byte,
    -- Share of the experts' weights that the run's tokens use.
    COALESCE(LEAST(
        1e0,
        SUM(CASE WHEN is_expert THEN share_count * weight_byte ELSE 0e0 END)
        / NULLIF(SUM(CASE WHEN is_expert THEN held_byte ELSE 0e0 END), 0e0)
    ), 0e0) AS expert_met_fraction,
    -- Host time to issue all kernels; 0 where one launch starts all kernels. [s]
    SUM(CASE WHEN dispatch = 'graph' THEN 0e0 ELSE issue_s END) AS host_s,
    -- Energy of arithmetic and traffic of all devices; null when a coefficient is missing. [J]
    SUM(share_count * kernel_j) + CASE WHEN COUNT(*) > COUNT(kernel_j) THEN NULL ELSE 0e0 END AS dynamic_energy_j,
    -- Host time of the run's call. [s]
    MAX(run_call_s - exchange_s) AS call_s,
    MAX(static_w) AS static_w,
    MAX(dispatch) AS dispatch,
    -- Impossible number that makes the answer null; else null.
    MAX(fault) AS fault
FROM placed_shapes
GROUP BY run, hardware
