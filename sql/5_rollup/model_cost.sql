-- Sums of every run on every part. A kernel that the host issues ahead of the device starts when both are ready, so that the
-- run ends at the sum of device times plus the largest lead of the host: D + max over j of (issue_j - D_(j-1)). Host and
-- device add where dispatch is `serial`; a `graph` is launched once. What the run pays once is call_s. Time in which the
-- device waits is what busy times leave of the run.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_cost AS
WITH shape_costs AS (
    SELECT
        *,
        dram_energy_j + cache_energy_j AS memory_energy_j
    FROM shape_cost
),

summed_shapes AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        SUM(kernel_count) AS kernel_count,
        SUM(kernel_count * macs) AS macs,
        SUM(kernel_count * flops) AS flops,
        SUM(kernel_count * moved_byte) AS traffic_byte,
        SUM(kernel_count * dram_byte) AS dram_byte,
        SUM(kernel_count * busy_s) AS busy_s,
        SUM(CASE WHEN is_power_bound OR compute_s < memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS compute_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE kernel_count * (busy_s - team_s) END) AS memory_s,
        SUM(CASE WHEN is_power_bound THEN kernel_count * busy_s ELSE 0e0 END) AS power_s,
        SUM(CASE WHEN is_power_bound THEN 0e0 ELSE kernel_count * team_s END) AS team_s,
        SUM(kernel_count * device_s) AS device_s,
        SUM(kernel_count * naive_s) AS naive_s,
        SUM(kernel_count * roofline_s) AS roofline_s,
        SUM(kernel_count * compute_energy_j) + CASE WHEN COUNT(*) > COUNT(compute_energy_j) THEN NULL ELSE 0e0 END
            AS compute_energy_j,
        SUM(kernel_count * memory_energy_j) + CASE WHEN COUNT(*) > COUNT(memory_energy_j) THEN NULL ELSE 0e0 END
            AS memory_energy_j,
        SUM(kernel_count * busy_s * units_allocated) / NULLIF(MAX(unit_count), 0e0) AS allocated_s,
        SUM(kernel_count * busy_s * utilization_fraction) AS utilized_s,
        MAX(dynamic_energy_j / NULLIF(busy_s, 0e0)) AS peak_dynamic_w,
        MAX(static_w) AS static_w,
        MAX(dispatch) AS dispatch,
        MAX(host_kernel_s) AS host_kernel_s,
        MAX(host_view_s) AS host_view_s,
        MAX(call_s) AS call_s
    FROM shape_costs
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
),

queued_kernels AS (
    SELECT
        k.model,
        s.hardware,
        k.backend,
        k.precision,
        k.batch,
        k.sequence,
        k.scenario_id,
        (k.position + 1) * s.host_kernel_s + k.issued_view_count * s.host_view_s AS issue_s,
        s.device_s,
        SUM(s.device_s) OVER (
            PARTITION BY k.model, s.hardware, k.backend, k.precision, k.batch, k.sequence, k.scenario_id ORDER BY k.position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS device_end_s
    FROM run_kernel AS k
    INNER JOIN shape_costs AS s
        ON s.model = k.model AND s.backend = k.backend AND s.precision = k.precision AND s.batch = k.batch
        AND s.sequence = k.sequence AND s.scenario_id = k.scenario_id AND s.shape_id = k.shape_id
    WHERE s.dispatch = 'async_queue'
),
leads AS (
    SELECT model, hardware, backend, precision, batch, sequence, scenario_id, MAX(issue_s - device_end_s + device_s) AS lead_s
    FROM queued_kernels
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
)
SELECT s.*, l.lead_s FROM summed_shapes AS s LEFT JOIN leads AS l
ON l.model = s.model AND l.hardware = s.hardware AND l.backend = s.backend AND l.precision = s.precision AND l.batch = s.batch AND l.sequence = s.sequence AND l.scenario_id = s.scenario_id
