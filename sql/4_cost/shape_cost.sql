-- Device time and dynamic energy of every distinct shape on every part, with each quantity they come from.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW shape_cost AS
SELECT
    *,
    -- True when the power limit, nothing else, sets busy_s.
    COALESCE(power_s, 0e0) > unlimited_s AS is_power_bound,
    -- busy_s plus the gap between kernels. [s]
    busy_s + kernel_gap_s AS device_s
FROM cost_busy
