-- Energy of every kernel on every part by component. Null where a coefficient of the part is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_energy AS
SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.context,
    k.phase,
    k.memory_format,
    k.kernel_id,
    k.position,
    k.kernel_class,
    k.compute_energy_j,
    k.memory_energy_j,
    k.static_energy_j,
    k.wasted_energy_j,
    k.energy_j,
    -- Average power while it runs: energy over latency. [W]
    k.energy_j / NULLIF(k.latency_s, 0e0) AS power_w,
    h.energy_scope
FROM kernel_time AS k
INNER JOIN part AS h ON h.hardware = k.hardware
