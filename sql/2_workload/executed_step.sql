-- Steps of every operator that a kernel executes in a run, with the element type each computes in.
-- Grain: model, scenario_id, kernel_id, operator_id, step
CREATE VIEW executed_step AS
SELECT
    r.model,
    r.scenario_id,
    -- Kernel.
    ko.kernel_id,
    ko.operator_id,
    p.step,
    p.step_class,
    o.operator_class,
    -- Element type of the arithmetic.
    op.precision AS compute_precision,
    z.macs,
    z.flops,
    z.threads,
    z.accesses,
    z.m,
    z.n,
    z.k,
    z.gemm_count,
    z.sharing
FROM run AS r
INNER JOIN kernel_operator AS ko ON ko.model = r.model AND ko.backend = r.backend
INNER JOIN operator AS o ON o.model = ko.model AND o.operator_id = ko.operator_id
INNER JOIN operator_step AS p ON p.model = ko.model AND p.operator_id = ko.operator_id
INNER JOIN operator_precision AS op
    ON op.model = ko.model AND op.policy = r.precision AND op.operator_id = ko.operator_id
INNER JOIN step_size AS z
    ON z.model = r.model AND z.scenario_id = r.scenario_id
    AND z.operator_id = p.operator_id AND z.step = p.step
WHERE NOT ko.is_folded AND NOT o.is_view
