-- Least time of a run under a power limit: its dynamic energy, part of which follows the square of the voltage, divided by the
-- power that static power leaves; null if it leaves none. [s]
CREATE MACRO time_under_limit(clocked_j, memory_j, limit_w, static_w, voltage_square) AS
    (clocked_j * voltage_square + memory_j) / NULLIF(GREATEST(limit_w - static_w, 0e0), 0e0);
