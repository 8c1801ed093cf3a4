-- Measurements without a row in `prediction_error`, each with the first reason.
-- Grain: measurement_id
CREATE VIEW unscored_measurement AS
WITH asked_measurements AS (
    SELECT
        x.*,
        i.model AS ingested_model,
        i.match,
        i.precision AS policy,
        COALESCE(x.sequence, m.default_sequence) AS asked_sequence
    FROM measurement AS x
    INNER JOIN measured_model AS i ON i.measurement_id = x.measurement_id
    LEFT JOIN model AS m ON m.model = i.model
),

answered_measurements AS (
    SELECT DISTINCT x.measurement_id, r.run.scenario_id IS NOT NULL AS has_scenario, s.hardware IS NOT NULL AS has_support
    FROM asked_measurements AS x
    LEFT JOIN run AS r
        ON r.run.model = x.ingested_model AND r.run.backend = x.backend AND r.run.precision = x.policy AND r.run.batch = x.batch
        AND r.memory_format = x.memory_format AND r.phase <> 'decode' AND r.run.sequence = x.asked_sequence
    LEFT JOIN part_support AS s
        ON s.hardware = x.hardware AND s.backend = x.backend AND s.precision = x.policy
),

reasons AS (
    SELECT
        x.measurement_id,
        x.source_id,
        CASE
            WHEN x.latency_s IS NULL AND x.batch IS NULL THEN 'no batch'
            WHEN x.latency_s IS NULL OR x.latency_s <= 0e0 THEN 'no time of a run'
            WHEN x.batch IS NULL THEN 'no batch'
            WHEN x.device_count <> 1 THEN 'several parts at once'
            WHEN x.mode NOT IN ('run', 'single_stream') THEN CONCAT('mode ', x.mode)
            WHEN x.hardware IS NULL THEN 'part not in the catalog'
            WHEN x.match = 'none' THEN 'model not ingested'
            WHEN x.match = 'refused' THEN 'ingested model of other parameters'
            WHEN NOT a.has_support THEN CONCAT('part does not run ', x.backend, ' in ', x.policy)
            WHEN NOT a.has_scenario THEN 'no such scenario'
        END AS reason
    FROM asked_measurements AS x
    INNER JOIN answered_measurements AS a ON a.measurement_id = x.measurement_id
)

SELECT
    measurement_id,
    source_id,
    -- Reason why the measurement is not compared with a prediction.
    reason
FROM reasons
WHERE reason IS NOT NULL
