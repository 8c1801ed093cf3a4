-- How much more of something a change takes, in hundredths of what there is now; null where it takes none, or less than half of one.
CREATE MACRO lost_share(word, fraction) AS
    CASE WHEN fraction >= 5e-3 THEN CONCAT(CAST(CAST(ROUND(fraction * 1e2) AS BIGINT) AS VARCHAR), ' % ', word) END;
