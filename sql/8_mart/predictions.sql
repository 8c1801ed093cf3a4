-- Predicted against measured time of every measurement of a stored run. Both times are of one precision policy: for a measurement
-- labelled `fp32`, the one in which its backend runs single precision by default, which may be TF32. Key: measurement_id, scenario_id;
-- the first is of `mart.measurements`, and model, hardware and scenario_id are of `mart.runs`.
-- Grain: measurement_id, scenario_id
CREATE VIEW predictions AS
SELECT
    measurement_id,
    model,
    hardware,
    scenario_id,
    backend,
    precision,
    batch,
    sequence,
    measured_s,
    predicted_s,
    log_ratio,
    p10_s,
    p90_s,
    is_inside,
    overhead_fraction
FROM answer.prediction_error
