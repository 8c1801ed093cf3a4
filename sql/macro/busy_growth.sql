-- Factor by which contention lengthens the time of a network whose utilization exceeds `busy_fraction`; at most the inverse of
-- `busy_fraction`.
CREATE MACRO busy_growth(utilization, busy_fraction) AS
    1e0 / NULLIF(1e0 - GREATEST(0e0, LEAST(1e0, utilization) - busy_fraction), 0e0);
