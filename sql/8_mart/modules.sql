-- Modules of every stored run on every part with their time and energy, submodules included, and the run's call, evaluated when they
-- are asked: name a model and a part in WHERE. Key: model, hardware, scenario_id, module_id; the first three are of `mart.runs`.
-- Grain: model, hardware, scenario_id, module_id
CREATE VIEW modules AS
SELECT
    model,
    hardware,
    scenario_id,
    module_id,
    backend,
    precision,
    batch,
    sequence,
    module,
    class_name,
    depth,
    operator_count,
    latency_s,
    energy_j,
    edp_js,
    weight_byte,
    output_byte
FROM run_module
