-- Mapping of every step of every kernel to a part's units: a product uses the tile chosen for its kernel.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, step_id
CREATE VIEW step_mapping AS
SELECT
    m.model,
    m.hardware,
    m.backend,
    m.precision,
    m.batch,
    m.sequence,
    m.scenario_id,
    m.context,
    m.phase,
    m.memory_format,
    m.kernel_id,
    m.step_id,
    t.operator_id,
    t.operator,
    t.operator_class,
    t.step,
    m.candidate,
    m.unit,
    m.executed_precision,
    m.strategy,
    m.macs,
    m.flops,
    m.threads,
    m.peak_ops_per_s,
    m.unit_ops_per_s,
    m.tile_m,
    m.tile_n,
    m.tile_k,
    m.tile_count,
    m.tile_unit_count,
    m.units_allocated,
    m.waves,
    m.pipelining_fraction,
    m.utilization_fraction,
    m.reload_byte,
    m.tile_byte,
    m.ideal_s
FROM mapped_step AS m
INNER JOIN kernel_step AS t
    ON t.model = m.model AND t.backend = m.backend AND t.kernel_id = m.kernel_id AND t.step_id = m.step_id
