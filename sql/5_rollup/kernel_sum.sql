-- Sums over the kernels of every run on every part, one by one and without common tables, so that a view which compares
-- targets with targets may read it twice, and a filter still reaches the scans. `model_cost` says the same from distinct
-- shapes, faster.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: as model_cost
CREATE VIEW kernel_sum AS
WITH summed_kernels AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        MAX(run_call_s) + MAX(end_s) AS latency_s,
        SUM(busy_s) AS busy_s,
        SUM(CASE WHEN is_power_bound OR compute_s < memory_s THEN 0e0 ELSE busy_s - team_s END) AS compute_s,
        SUM(CASE WHEN is_power_bound OR compute_s >= memory_s THEN 0e0 ELSE busy_s - team_s END) AS memory_s,
        SUM(CASE WHEN is_power_bound THEN busy_s ELSE 0e0 END) AS power_s,
        SUM(CASE WHEN is_power_bound THEN 0e0 ELSE team_s END) AS team_s,
        SUM(busy_s * utilization_fraction) / NULLIF(SUM(busy_s), 0e0) AS utilization_fraction,
        SUM(dynamic_energy_j) + CASE WHEN COUNT(*) > COUNT(dynamic_energy_j) THEN NULL ELSE 0e0 END AS dynamic_energy_j,
        MAX(static_w) AS static_w
    FROM kernel_time
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id
)

SELECT
    s.model,
    s.hardware,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    -- Time of one run: the call and all kernels. [s]
    s.latency_s,
    -- Part of it in which arithmetic sets the pace. [s]
    s.compute_s,
    -- Part of it in which a memory level sets the pace. [s]
    s.memory_s,
    -- Part of it in kernels of which the power limit or the power mode sets the pace. [s]
    s.power_s,
    -- Part of it in which teams of threads begin and end. [s]
    s.team_s,
    -- Part of it in which the device waits: the call, dispatch and gaps. [s]
    s.latency_s - s.busy_s AS overhead_s,
    -- Share of the units' peak that shapes and waves leave, weighted by busy time.
    s.utilization_fraction,
    -- Total energy; null when a coefficient is missing. [J]
    s.dynamic_energy_j + s.static_w * s.latency_s AS energy_j
FROM summed_kernels AS s
