-- Kernels that are mapped to more units than the part has.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW units_above_part AS
SELECT
    run.model,
    hardware,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    kernel_id,
    units_allocated,
    unit_count
FROM kernel_cost
WHERE units_allocated > unit_count
