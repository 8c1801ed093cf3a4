-- Factor by which a queue lengthens a network's time once its utilization exceeds `busy_fraction`; at most the inverse of that share.
CREATE MACRO busy_growth(utilization, busy_fraction) AS
    1e0 / NULLIF(1e0 - GREATEST(0e0, LEAST(1e0, utilization) - busy_fraction), 0e0);
