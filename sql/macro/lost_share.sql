-- Text for the increase of a quantity by a change, in percent of the value before the change; null below half a percent.
CREATE MACRO lost_share(word, fraction) AS
    CASE WHEN fraction >= 5e-3 THEN CONCAT(CAST(CAST(ROUND(fraction * 1e2) AS BIGINT) AS VARCHAR), ' % ', word) END;
