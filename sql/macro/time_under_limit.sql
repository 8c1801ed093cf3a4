-- Least time of a run under a power limit: its dynamic energy, of which a part goes with the square of the voltage, over what
-- static power leaves of the limit; null where it leaves nothing. [s]
CREATE MACRO time_under_limit(clocked_j, memory_j, limit_w, static_w, voltage_square) AS
    (clocked_j * voltage_square + memory_j) / NULLIF(GREATEST(limit_w - static_w, 0e0), 0e0);
