-- Kernels of a run that no row of costs stands for on a part that runs it: an efficiency or an operator class is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW kernel_without_cost AS
WITH run_kernels AS (
    SELECT
        s.model,
        t.hardware,
        s.backend,
        s.precision,
        s.batch,
        s.sequence,
        s.scenario_id,
        SUM(s.kernel_count) AS kernel_count
    FROM shape AS s
    INNER JOIN part_support AS t
        ON t.backend = s.backend AND t.precision = s.precision AND (t.bias_is_kernel OR s.kernel_class <> 'bias')
    GROUP BY s.model, t.hardware, s.backend, s.precision, s.batch, s.sequence, s.scenario_id
)

SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    -- Kernels of the run.
    CAST(k.kernel_count AS BIGINT) AS run_kernel_count,
    -- Kernels with a cost.
    COALESCE(c.kernel_count, 0) AS costed_count
FROM run_kernels AS k
LEFT JOIN model_cost AS c
    ON c.model = k.model AND c.hardware = k.hardware AND c.backend = k.backend AND c.precision = k.precision
    AND c.batch = k.batch AND c.sequence = k.sequence AND c.scenario_id = k.scenario_id
WHERE COALESCE(c.kernel_count, 0) <> k.kernel_count
