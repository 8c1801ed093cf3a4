-- Runs in a precision that people run with another backend on the part (a row of `default_backend` for this precision). The kernels that
-- this backend has in the precision are assumed, and its time is as uncertain.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW unusual_backend AS
SELECT
    r.run.model,
    t.hardware,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    -- Backend that people run in this precision.
    MIN(d.backend) AS usual_backend
FROM run AS r
INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
INNER JOIN supported_backend AS s ON s.hardware = t.hardware AND s.backend = t.backend
INNER JOIN hardware AS h ON h.hardware = t.hardware
INNER JOIN default_backend AS d
    ON d.family = h.family AND d.vendor IN ('*', h.vendor) AND d.market IN ('*', h.market) AND d.precision = r.run.precision
WHERE NOT s.serves
GROUP BY r.run, t.hardware
HAVING MAX(CASE WHEN d.backend = r.run.backend THEN 1 ELSE 0 END) = 0
