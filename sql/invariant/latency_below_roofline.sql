-- Kernels that would finish sooner than their work at peak or their main memory traffic at peak bandwidth allows.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW latency_below_roofline AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    kernel_id,
    busy_s,
    latency_s,
    roofline_s
FROM kernel_time
WHERE LEAST(busy_s, latency_s) < roofline_s * (1e0 - 1e-9) - 1e-15
    -- A comparison with a missing time is neither true nor false.
    OR latency_s IS NULL
