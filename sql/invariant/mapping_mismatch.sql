-- Kernels with a wrong mapping: to a step of another kernel, to a tile that is not the kernel's chosen tile, or with steps that no
-- unit of the part executes.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW mapping_mismatch AS
SELECT
    m.model,
    m.hardware,
    m.backend,
    m.precision,
    m.batch,
    m.sequence,
    m.scenario_id,
    m.kernel_id,
    m.step_id,
    -- Operator of the step; null when the kernel has no such step.
    t.operator_id,
    m.candidate,
    -- Number of the kernel's chosen tile.
    c.candidate AS chosen_candidate,
    m.mapped_count,
    c.step_count
FROM kernel_mapping AS m
INNER JOIN kernel_cost AS c
    ON c.run.model = m.model AND c.hardware = m.hardware AND c.run.backend = m.backend AND c.run.precision = m.precision
    AND c.run.batch = m.batch AND c.run.sequence = m.sequence AND c.run.scenario_id = m.scenario_id AND c.kernel_id = m.kernel_id
LEFT JOIN kernel_step AS t
    ON t.model = m.model AND t.backend = m.backend AND t.kernel_id = m.kernel_id AND t.step_id = m.step_id
-- A kernel with a `fault` has no answer, and may have steps without a rate.
WHERE c.fault IS NULL
    AND (
        m.mapped_count <> c.step_count
        OR (m.step_id IS NOT NULL AND t.operator_id IS NULL)
        OR m.candidate <> c.candidate
    )
