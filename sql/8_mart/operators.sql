-- Operators of every stored run on every part with their shares of kernels, evaluated when they are asked: name a model and a part in
-- WHERE. Key: model, hardware, scenario_id, kernel_id, operator_id, step; the first three are of `mart.runs`, with the fourth of
-- `mart.kernels`.
-- Grain: model, hardware, scenario_id, kernel_id, operator_id, step
CREATE VIEW operators AS
SELECT
    model,
    hardware,
    scenario_id,
    kernel_id,
    operator_id,
    step,
    backend,
    precision,
    batch,
    sequence,
    operator,
    operator_class,
    module,
    is_fused,
    share_fraction,
    latency_s,
    energy_j,
    edp_js
FROM operator_edp
