-- Kernels of every stored run on every part with their time and energy, evaluated when they are asked: name a model and a part in
-- WHERE. The call of the whole run, which no kernel contains, is the row `(run call)` of `mart.modules`. Key: model, hardware,
-- scenario_id, kernel_id; the first three are of `mart.runs`.
-- Grain: model, hardware, scenario_id, kernel_id
CREATE VIEW kernels AS
SELECT
    model,
    hardware,
    scenario_id,
    kernel_id,
    backend,
    precision,
    batch,
    sequence,
    position,
    kernel,
    kernel_class,
    operator,
    module,
    latency_s,
    bottleneck,
    compute_s,
    memory_s,
    overhead_s,
    utilization_fraction,
    energy_j,
    compute_energy_j,
    memory_energy_j,
    static_energy_j,
    macs,
    flops,
    moved_byte,
    dram_byte,
    is_simulated
FROM kernel_time
