-- Names of every run as a reader writes them: the natural keys of the report views.
-- Grain: model_id, scenario_id
CREATE VIEW run_label (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Name of the model.
    model,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format
) AS
SELECT
    r.model_id,
    r.scenario_id,
    m.model,
    r.backend,
    r.policy AS precision,
    CAST(r.batch AS BIGINT) AS batch,
    CAST(r.sequence AS BIGINT) AS sequence,
    CAST(r.context AS BIGINT) AS context,
    r.phase,
    r.memory_format
FROM run AS r
INNER JOIN model AS m ON m.model_id = r.model_id
