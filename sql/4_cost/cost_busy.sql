-- All terms together: the larger of arithmetic and memory, what does not overlap, what comes one after another, and the power
-- limit.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_busy AS
SELECT
    *,
    -- Time without the power limit: the larger of compute_s and memory_s plus serial_s, reorder_s, paging_s and team_s. [s]
    GREATEST(compute_s, memory_s) + serial_s + reorder_s + paging_s + team_s AS unlimited_s,
    -- Time the kernel keeps the device busy: unlimited_s, never below power_s. [s]
    GREATEST(GREATEST(compute_s, memory_s) + serial_s + reorder_s + paging_s + team_s, COALESCE(power_s, 0e0)) AS busy_s
FROM cost_power
