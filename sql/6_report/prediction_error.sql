-- Predicted and measured time of every measurement whose model is ingested, whose part is known and whose conditions are among the
-- scenarios. Measurements on several parts at once, of a server or at an unknown batch are left out. `charz validate` compares
-- every measured condition without adding scenarios. Both predict the policy that ran (`measured_model`), so a measurement of `fp32`
-- under TF32 if its backend allows TF32 by default.
-- Grain: measurement_id, scenario_id
CREATE VIEW prediction_error AS
SELECT
    x.measurement_id,
    c.model,
    c.hardware,
    c.backend,
    c.precision,
    c.batch,
    c.sequence,
    c.scenario_id,
    c.memory_format,
    -- Family of the model's architecture.
    m.architecture_family,
    -- Version of the framework.
    x.software,
    -- Source of the measurement.
    x.source_id,
    -- Measured time of one run. [s]
    x.latency_s AS measured_s,
    -- Predicted time of one run. [s]
    c.latency_s AS predicted_s,
    -- Natural logarithm of predicted / measured time. Above 0, the predicted time is too long.
    LN(c.latency_s / NULLIF(x.latency_s, 0e0)) AS log_ratio,
    c.p10_s,
    c.p90_s,
    -- True if the measured time is between these percentiles; null if they are unknown.
    x.latency_s BETWEEN c.p10_s AND c.p90_s AS is_inside,
    -- Share of the predicted time in which the device waits: the call, dispatch and gaps.
    c.overhead_s / NULLIF(c.latency_s, 0e0) AS overhead_fraction
FROM measurement AS x
INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id AND i.match = 'matched'
INNER JOIN model AS m ON m.model = i.model
INNER JOIN model_latency AS c
    ON c.model = m.model AND c.hardware = x.hardware AND c.backend = x.backend AND c.precision = i.precision AND c.batch = x.batch
    AND c.memory_format = x.memory_format AND c.phase <> 'decode' AND c.sequence = COALESCE(x.sequence, m.default_sequence)
WHERE x.latency_s > 0e0 AND x.device_count = 1 AND x.mode IN ('run', 'single_stream')
