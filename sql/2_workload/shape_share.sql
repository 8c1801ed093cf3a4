-- What each device of a run on several does of a shape: one of as many parts of the kernels that tensor parallel splits
-- (`split_kernel`), and all of the others.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id
CREATE TABLE shape_share AS
SELECT
    k.model,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.shape_id,
    -- Share of the work of the shape's kernels that a device does.
    AVG(CASE WHEN s.is_split THEN 1e0 / NULLIF(r.device_count, 0) ELSE 1e0 END) AS device_share
FROM run AS r
INNER JOIN run_kernel AS k
    ON k.model = r.model AND k.backend = r.backend AND k.precision = r.precision AND k.batch = r.batch
    AND k.sequence = r.sequence AND k.scenario_id = r.scenario_id
INNER JOIN split_kernel AS s
    ON s.model = k.model AND s.backend = k.backend AND s.precision = k.precision AND s.batch = k.batch
    AND s.sequence = k.sequence AND s.scenario_id = k.scenario_id AND s.kernel_id = k.kernel_id
WHERE r.device_count > 1
GROUP BY k.model, k.backend, k.precision, k.batch, k.sequence, k.scenario_id, k.shape_id
