-- Plans for one device whose time differs from the time of the single part, and plans whose throughput exceeds the single part's
-- throughput times the number of devices. Expert parallelism is excluded, because each device reads fewer experts.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, interconnect, device_count, strategy
CREATE VIEW parallel_single_differs AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    interconnect,
    strategy,
    device_count,
    speedup,
    latency_s
FROM parallel_plan
WHERE
    (device_count = 1 AND ABS(speedup - 1e0) > 1e-9)
    OR (strategy <> 'expert' AND scaling_efficiency_fraction > 1e0 + 1e-9)
