-- Predicted against measured time of every measurement whose model is ingested, whose part is known and
-- whose conditions stand among the scenarios. Runs of several parts at once, of a server or of unknown batch
-- stay out. `charz validate` asks the same of every measured condition without adding scenarios.
-- Grain: measurement_id
CREATE VIEW prediction_error (
    -- Measurement.
    measurement_id,
    -- Model.
    model,
    -- Family the architecture belongs to.
    architecture_family,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens a sample; 1 for a model without a sequence axis.
    sequence,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Version of the framework.
    software,
    -- Data set of the measurement.
    source_id,
    -- Measured time of one run. [s]
    measured_s,
    -- Predicted time of one run. [s]
    predicted_s,
    -- Natural logarithm of predicted over measured: above 0 predicts too slow.
    log_ratio,
    -- Tenth percentile of the prediction; null without a band. [s]
    p10_s,
    -- Ninetieth percentile of the prediction; null without a band. [s]
    p90_s,
    -- True when the measurement lies between the two; null without a band.
    is_inside,
    -- Share of the predicted time in which the device waits.
    overhead_fraction
) AS
SELECT
    x.measurement_id,
    m.model,
    m.architecture_family,
    x.hardware_id AS hardware,
    s.backend,
    s.policy AS precision,
    s.batch,
    COALESCE(s.sequence, m.default_sequence) AS sequence,
    s.memory_format,
    x.software,
    x.source_id,
    x.latency_s AS measured_s,
    c.latency_s AS predicted_s,
    LN(c.latency_s / NULLIF(x.latency_s, 0e0)) AS log_ratio,
    c.latency_s * b.low_factor AS p10_s,
    c.latency_s * b.high_factor AS p90_s,
    x.latency_s BETWEEN c.latency_s * b.low_factor AND c.latency_s * b.high_factor AS is_inside,
    c.overhead_s / NULLIF(c.latency_s, 0e0) AS overhead_fraction
FROM measurement AS x
INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id
INNER JOIN model AS m ON m.model_id = i.model_id
INNER JOIN scenario AS s
    ON s.backend = x.backend AND s.policy = x.precision AND s.batch = x.batch
    AND s.memory_format = x.memory_format AND s.phase <> 'decode'
    AND COALESCE(s.sequence, m.default_sequence) = COALESCE(x.sequence, m.default_sequence)
INNER JOIN model_cost AS c
    ON c.model_id = m.model_id AND c.scenario_id = s.scenario_id AND c.hardware_id = x.hardware_id
LEFT JOIN band_choice AS b
    ON b.hardware_id = x.hardware_id AND b.backend = s.backend AND b.quantity = 'latency'
    AND b.batch_class = CASE
        WHEN s.batch = 1 THEN '1' WHEN s.batch <= 8 THEN '2-8' WHEN s.batch <= 64 THEN '9-64' ELSE '>64'
    END
WHERE x.latency_s > 0e0 AND x.device_count = 1 AND x.mode IN ('run', 'single_stream')
