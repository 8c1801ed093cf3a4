-- Shortest time of a run under a power limit: dynamic energy, part of which is proportional to the square of the voltage, divided
-- by the limit minus static power; null if static power reaches the limit. [s]
CREATE MACRO time_under_limit(clocked_j, memory_j, limit_w, static_w, voltage_square) AS
    (clocked_j * voltage_square + memory_j) / NULLIF(GREATEST(limit_w - static_w, 0e0), 0e0);
