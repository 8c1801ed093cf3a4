-- One device under any strategy takes as long as the single part, and no more devices give more than as
-- many times the throughput, but for experts: each device reads fewer of them.
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
