-- Time and energy of every run on every part (`run_cost`), with the fields of the run as columns.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_cost AS
SELECT
    run.model,
    hardware,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    * EXCLUDE (run, hardware)
FROM run_cost
