-- Device time and dynamic energy of every distinct shape on every part at full clock. The time is the longer of arithmetic and
-- memory, plus the share of the shorter that does not overlap, plus exposed time. The effect of the power limit depends on the run
-- (`clocked_shape`). All costs are null for a part with an impossible number (`part_fault`).
-- Term: overlap, overlap, , , overlap_fraction, serial_s,
-- Term: gap, gap, , , , kernel_gap_s,
-- Grain: run, shape_id, hardware
CREATE VIEW shape_cost AS
WITH possible_costs AS (
    SELECT
        * EXCLUDE (
            compute_s, memory_s, clocked_memory_s, feed_s, team_s, naive_s, roofline_s, compute_energy_j, memory_energy_j,
            dynamic_energy_j, clocked_energy_j
        ),
        CASE WHEN fault IS NULL THEN compute_s END AS compute_s,
        CASE WHEN fault IS NULL THEN memory_s END AS memory_s,
        CASE WHEN fault IS NULL THEN clocked_memory_s END AS clocked_memory_s,
        CASE WHEN fault IS NULL THEN feed_s END AS feed_s,
        CASE WHEN fault IS NULL THEN team_s END AS team_s,
        CASE WHEN fault IS NULL THEN naive_s END AS naive_s,
        CASE WHEN fault IS NULL THEN roofline_s END AS roofline_s,
        CASE WHEN fault IS NULL THEN compute_energy_j END AS compute_energy_j,
        CASE WHEN fault IS NULL THEN memory_energy_j END AS memory_energy_j,
        CASE WHEN fault IS NULL THEN dynamic_energy_j END AS dynamic_energy_j,
        CASE WHEN fault IS NULL THEN clocked_energy_j END AS clocked_energy_j
    FROM cost_power
)

SELECT
    *,
    -- Part of the shorter of `compute_s` and `memory_s` that does not overlap. [s]
    serial_time(compute_s, memory_s, overlap_fraction) AS serial_s,
    -- Time at full clock: the longer of `compute_s` and `memory_s` plus `serial_s`, at least `feed_s`, plus `exposed_s`. [s]
    busy_time(compute_s, memory_s, feed_s, exposed_s, overlap_fraction) AS unlimited_s
FROM possible_costs
