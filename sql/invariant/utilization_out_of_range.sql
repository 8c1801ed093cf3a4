-- Steps with a fraction outside 0 to 1 (utilization, pipelining, bandwidth), a negative compute efficiency, or more busy units than
-- the part has.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, step_id
CREATE VIEW utilization_out_of_range AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    kernel_id,
    step_id,
    utilization_fraction,
    pipelining_fraction,
    compute_efficiency_fraction,
    memory_efficiency_fraction,
    units_allocated,
    tile_unit_count,
    unit_count
FROM mapped_step
WHERE NOT COALESCE(
    utilization_fraction BETWEEN 0e0 AND 1e0
    AND COALESCE(pipelining_fraction, 1e0) BETWEEN 0e0 AND 1e0
    AND compute_efficiency_fraction >= 0e0
    AND memory_efficiency_fraction BETWEEN 0e0 AND 1e0 + 1e-12
    AND units_allocated <= COALESCE(tile_unit_count, unit_count),
    FALSE
)
