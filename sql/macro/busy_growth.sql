-- How much longer a network takes that is busy for more than some share of a time: as a queue grows beyond that share, and no more
-- than the inverse of it.
CREATE MACRO busy_growth(utilization, busy_fraction) AS
    1e0 / NULLIF(1e0 - GREATEST(0e0, LEAST(1e0, utilization) - busy_fraction), 0e0);
