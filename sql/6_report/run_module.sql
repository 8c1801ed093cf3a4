-- Modules of a run with their time and energy, submodules included, and a row `(run call)` for the time that belongs to no module: the
-- call that starts the run. The rows of depth 0 (the root module and the call) sum to the run.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, module_id
CREATE VIEW run_module AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    -- Number of the module in the model; -1 for the run's call.
    module_id,
    -- Dotted path of the module; empty for the root module, `(run call)` for the run's call.
    module,
    class_name,
    depth,
    operator_count,
    -- Time of the module's operators, or of the run's call. [s]
    latency_s,
    -- Energy of the module's operators, or static energy of the run's call; null when a coefficient is missing. [J]
    energy_j,
    -- Share of the run's energy-delay product. [J s]
    edp_js,
    weight_byte,
    output_byte
FROM module_edp
UNION ALL
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    -1 AS module_id,
    '(run call)' AS module,
    '' AS class_name,
    0 AS depth,
    0 AS operator_count,
    run_call_s AS latency_s,
    CASE WHEN energy_j IS NOT NULL THEN static_w * run_call_s END AS energy_j,
    -- The run's product is shared half by time and half by energy, as between kernels.
    0.5e0 * (static_w * run_call_s * latency_s + run_call_s * energy_j) AS edp_js,
    0e0 AS weight_byte,
    0e0 AS output_byte
FROM model_cost
