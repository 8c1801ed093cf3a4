-- Kernels with a fraction outside 0 to 1 (utilization, pipelining, bandwidth), a negative one of the tiles' pace, or more
-- units than there are.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW utilization_out_of_range (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Share of the tile's time in which the pipeline is full.
    pipelining_fraction,
    -- Share of the tiles' pace the kernel class reaches.
    compute_efficiency_fraction,
    -- Share of the peak bandwidth the kernel class reaches.
    memory_efficiency_fraction,
    -- Units that get work.
    units_allocated,
    -- Units of the part.
    unit_count
) AS
SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    utilization_fraction,
    pipelining_fraction,
    compute_efficiency_fraction,
    memory_efficiency_fraction,
    units_allocated,
    unit_count
FROM kernel_cost
WHERE NOT (
    utilization_fraction BETWEEN 0e0 AND 1e0
    AND pipelining_fraction BETWEEN 0e0 AND 1e0
    AND compute_efficiency_fraction >= 0e0
    AND COALESCE(memory_efficiency_fraction, 1e0) BETWEEN 0e0 AND 1e0 + 1e-12
    AND units_allocated <= unit_count
)
