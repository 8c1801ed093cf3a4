-- Kernels of a run without a row of costs on a part that runs it: an efficiency or an operator class is missing.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW kernel_without_cost AS
WITH run_kernels AS (
    SELECT
        s.run,
        t.hardware,
        SUM(s.kernel_count) AS kernel_count
    FROM shape AS s
    INNER JOIN part_support AS t
        ON t.backend = s.run.backend AND t.precision = s.run.precision AND (t.bias_is_kernel OR s.kernel_class <> 'bias')
    GROUP BY s.run, t.hardware
)

SELECT
    k.run.model,
    k.hardware,
    k.run.backend,
    k.run.precision,
    k.run.batch,
    k.run.sequence,
    k.run.scenario_id,
    -- Number of kernels of the run.
    CAST(k.kernel_count AS BIGINT) AS run_kernel_count,
    -- Number of kernels with a cost.
    COALESCE(c.kernel_count, 0) AS costed_count
FROM run_kernels AS k
LEFT JOIN model_cost AS c
    ON c.model = k.run.model AND c.hardware = k.hardware AND c.backend = k.run.backend AND c.precision = k.run.precision
    AND c.batch = k.run.batch AND c.sequence = k.run.sequence AND c.scenario_id = k.run.scenario_id
WHERE COALESCE(c.kernel_count, 0) <> k.kernel_count
