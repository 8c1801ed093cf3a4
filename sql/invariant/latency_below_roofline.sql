-- Kernels that would finish sooner than their work at peak or their main memory traffic at peak bandwidth allows.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW latency_below_roofline (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Time the kernel keeps the device busy. [s]
    busy_s,
    -- What it adds to the run. [s]
    latency_s,
    -- Roofline bound. [s]
    roofline_s
) AS
SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    busy_s,
    latency_s,
    roofline_s
FROM kernel_latency
WHERE LEAST(busy_s, latency_s) < roofline_s * (1e0 - 1e-12) - 1e-15
    -- A comparison with a missing time is neither true nor false.
    OR latency_s IS NULL
