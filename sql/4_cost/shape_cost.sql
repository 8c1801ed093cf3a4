-- Device time and dynamic energy of every distinct shape on every part, with each quantity they come from: the larger of
-- arithmetic and memory, the share of the smaller that does not overlap, what is exposed, and the power limit. All are null
-- for a part with a number that cannot be (`part_fault`).
-- Term: overlap, overlap, , , overlap_fraction, serial_s,
-- Term: gap, gap, , , , kernel_gap_s,
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW shape_cost AS
WITH possible_costs AS (
    SELECT
        * EXCLUDE (
            compute_s, memory_s, team_s, power_s, naive_s, roofline_s, compute_energy_j, memory_energy_j, dynamic_energy_j
        ),
        CASE WHEN fault IS NULL THEN compute_s END AS compute_s,
        CASE WHEN fault IS NULL THEN memory_s END AS memory_s,
        CASE WHEN fault IS NULL THEN team_s END AS team_s,
        CASE WHEN fault IS NULL THEN power_s END AS power_s,
        CASE WHEN fault IS NULL THEN naive_s END AS naive_s,
        CASE WHEN fault IS NULL THEN roofline_s END AS roofline_s,
        CASE WHEN fault IS NULL THEN compute_energy_j END AS compute_energy_j,
        CASE WHEN fault IS NULL THEN memory_energy_j END AS memory_energy_j,
        CASE WHEN fault IS NULL THEN dynamic_energy_j END AS dynamic_energy_j
    FROM cost_power
)

SELECT
    *,
    -- The part of the faster of compute_s and memory_s that does not overlap. [s]
    (1e0 - overlap_fraction) * LEAST(compute_s, memory_s) AS serial_s,
    -- Time without the power limit: the larger of compute_s and memory_s plus serial_s, at least feed_s, and exposed_s. [s]
    GREATEST(GREATEST(compute_s, memory_s) + serial_s, feed_s) + exposed_s AS unlimited_s,
    -- Time the kernel keeps the device busy: unlimited_s, never below power_s. [s]
    CASE WHEN fault IS NULL THEN GREATEST(unlimited_s, COALESCE(power_s, 0e0)) END AS busy_s,
    -- True when the power limit, nothing else, sets busy_s.
    COALESCE(power_s, 0e0) > unlimited_s AS is_power_bound,
    -- busy_s plus the gap between kernels. [s]
    busy_s + kernel_gap_s AS device_s
FROM possible_costs
