-- Critical path of every run on every part: the longest chain of dependent kernels, by operations, by device time and by
-- energy-delay product. Each is the sum over segments of the graph of the largest sum over a segment's paths. An inserted kernel
-- belongs to the kernel that it serves; costs paid once per run are on no path.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW critical_path AS
WITH node_costs AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        fused_kernel_id,
        SUM(flops) AS flops,
        SUM(device_s) AS device_s,
        COUNT(*) AS kernel_count,
        SUM(host_issue_s) AS host_issue_s,
        MAX(end_s) AS end_s,
        MAX(run_call_s) AS run_call_s,
        SUM(energy_j * latency_s) + CASE WHEN COUNT(*) > COUNT(energy_j) THEN NULL ELSE 0e0 END AS edp_js
    FROM kernel_time
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, fused_kernel_id
),

-- The sums over all kernels use the same evaluation as the paths.
run_sums AS (
    SELECT
        *,
        SUM(kernel_count) OVER same_run AS run_kernel_count,
        SUM(flops) OVER same_run AS run_flops,
        SUM(device_s) OVER same_run AS run_device_s,
        SUM(host_issue_s) OVER same_run AS run_host_issue_s,
        MAX(end_s) OVER same_run AS run_end_s
    FROM node_costs
    WINDOW same_run AS (PARTITION BY model, hardware, backend, precision, batch, sequence, scenario_id)
),

path_sums AS (
    SELECT
        n.model,
        n.hardware,
        n.backend,
        n.precision,
        n.batch,
        n.sequence,
        n.scenario_id,
        p.segment_id,
        p.path_id,
        p.is_exact,
        SUM(n.flops) AS flops,
        COUNT(*) AS kernel_count,
        SUM(n.device_s) AS device_s,
        MAX(n.run_kernel_count) AS run_kernel_count,
        MAX(n.run_flops) AS run_flops,
        MAX(n.run_device_s) AS run_device_s,
        MAX(n.run_call_s + n.run_host_issue_s) AS run_host_issue_s,
        MAX(n.run_call_s + n.run_end_s) AS run_latency_s,
        SUM(n.edp_js) + CASE WHEN COUNT(*) > COUNT(n.edp_js) THEN NULL ELSE 0e0 END AS edp_js
    FROM run_sums AS n
    INNER JOIN path_segment AS p
        ON p.model = n.model AND p.backend = n.backend AND p.kernel_id = n.fused_kernel_id
    GROUP BY
        n.model, n.hardware, n.backend, n.precision, n.batch, n.sequence, n.scenario_id, p.segment_id, p.path_id, p.is_exact
),

segment_maxima AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        segment_id,
        MAX(flops) AS flops,
        MAX(kernel_count) AS kernel_count,
        MAX(device_s) AS device_s,
        MAX(CASE WHEN is_exact THEN device_s ELSE 0e0 END) AS exact_s,
        MAX(run_kernel_count) AS run_kernel_count,
        MAX(run_flops) AS run_flops,
        MAX(run_device_s) AS run_device_s,
        MAX(run_host_issue_s) AS run_host_issue_s,
        MAX(run_latency_s) AS run_latency_s,
        MAX(edp_js) + CASE WHEN COUNT(*) > COUNT(edp_js) THEN NULL ELSE 0e0 END AS edp_js
    FROM path_sums
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, segment_id
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    -- Number of operations on the path with the most operations.
    SUM(flops) AS critical_path_flops,
    -- Number of kernels on the path with the most kernels.
    CAST(SUM(kernel_count) AS BIGINT) AS critical_path_kernels,
    -- Device time of the slowest path. [s]
    SUM(device_s) AS critical_path_s,
    -- Lower bound of `critical_path_s`, from paths that contain only real edges of the graph; equal to `critical_path_s` if the
    -- path is exact. [s]
    SUM(exact_s) AS critical_path_lower_s,
    -- Local energy-delay product of the path with the largest one; null when an energy is missing. [J s]
    SUM(edp_js) + CASE WHEN COUNT(*) > COUNT(edp_js) THEN NULL ELSE 0e0 END AS critical_path_edp_js,
    -- Number of kernels launched.
    CAST(MAX(run_kernel_count) AS BIGINT) AS kernel_count,
    -- Number of operations of the run.
    MAX(run_flops) AS flops,
    -- Device time of all kernels, one after the other. [s]
    MAX(run_device_s) AS sequential_s,
    -- Host time to issue all kernels, the run's call included. [s]
    MAX(run_host_issue_s) AS host_issue_s,
    -- Time of the executed run, one kernel at a time. [s]
    MAX(run_latency_s) AS latency_s
FROM segment_maxima
GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
