-- Kernels during which a run uses a negative amount of memory: a storage is freed before it is allocated.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW memory_below_zero AS
SELECT
    r.run.model,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    m.kernel_id,
    m.storage_count,
    m.live_byte
FROM memory_step AS m
INNER JOIN run AS r ON r.run = m.run
WHERE m.live_byte < 0e0 OR m.allocated_byte < m.live_byte OR m.storage_count < 0
