-- What a whole run computes and moves, by backend.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE VIEW model_work AS
SELECT
    r.model,
    r.backend,
    r.precision,
    r.batch,
    r.sequence,
    r.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    -- Kernels.
    CAST(SUM(s.kernel_count) AS BIGINT) AS kernel_count,
    -- Multiply-accumulates.
    SUM(s.kernel_count * s.macs) AS macs,
    -- Operations.
    SUM(s.kernel_count * s.flops) AS flops,
    -- Weights read. [byte]
    SUM(s.kernel_count * s.weight_byte) AS weight_byte,
    -- Bytes that cross kernel borders. [byte]
    SUM(s.kernel_count * s.traffic_byte) AS traffic_byte,
    -- Operations a byte moved. [ops/byte]
    SUM(s.kernel_count * s.flops) / NULLIF(SUM(s.kernel_count * s.traffic_byte), 0e0) AS arithmetic_intensity
FROM run AS r
INNER JOIN shape AS s
    ON s.model = r.model AND s.backend = r.backend AND s.precision = r.precision AND s.batch = r.batch
    AND s.sequence = r.sequence AND s.scenario_id = r.scenario_id
GROUP BY
    r.model, r.backend, r.precision, r.batch, r.sequence, r.scenario_id, r.context, r.phase, r.memory_format
