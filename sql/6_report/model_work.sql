-- Operations and bytes of a whole run, by backend.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_work AS
SELECT
    r.run.model,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    -- Number of kernels.
    CAST(SUM(s.kernel_count) AS BIGINT) AS kernel_count,
    -- Number of multiply-accumulates.
    SUM(s.kernel_count * s.macs) AS macs,
    -- Number of operations.
    SUM(s.kernel_count * s.flops) AS flops,
    -- Bytes of weights read. [byte]
    SUM(s.kernel_count * s.weight_byte) AS weight_byte,
    -- Bytes that cross kernel borders. [byte]
    SUM(s.kernel_count * s.traffic_byte) AS traffic_byte,
    -- Operations per moved byte. [ops/byte]
    SUM(s.kernel_count * s.flops) / NULLIF(SUM(s.kernel_count * s.traffic_byte), 0e0) AS arithmetic_intensity
FROM run AS r
INNER JOIN shape AS s ON s.run = r.run GROUP BY r.run, r.context, r.phase, r.memory_format
