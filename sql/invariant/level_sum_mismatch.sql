-- Kernels whose memory levels do not add up to their memory energy.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW level_sum_mismatch AS
SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    kernel_id,
    -- Sum over the levels. [J]
    dram_energy_j + cache_energy_j + reload_energy_j + stream_energy_j AS level_j,
    memory_energy_j
FROM kernel_energy
WHERE ABS(level_j - memory_energy_j) > 1e-9 * memory_energy_j
