-- Kernels whose time is shorter than their roofline bound: operations at the peak rate, or main-memory traffic at the peak
-- bandwidth.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW latency_below_roofline AS
WITH faulty_runs AS (
    SELECT DISTINCT model, hardware, backend, precision, batch, sequence, scenario_id
    FROM kernel_time
    WHERE fault IS NOT NULL
)

SELECT
    k.model,
    k.hardware,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.kernel_id,
    k.busy_s,
    k.latency_s,
    k.roofline_s
FROM kernel_time AS k
LEFT JOIN faulty_runs AS f
    ON f.model = k.model AND f.hardware = k.hardware AND f.backend = k.backend AND f.precision = k.precision
    AND f.batch = k.batch AND f.sequence = k.sequence AND f.scenario_id = k.scenario_id
WHERE LEAST(k.busy_s, k.latency_s) < k.roofline_s * (1e0 - 1e-9) - 1e-15
    -- A comparison with a null time is null; times may be null only in a run with a kernel that has no answer.
    OR (k.latency_s IS NULL AND f.model IS NULL)
