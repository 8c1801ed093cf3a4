-- Reason why a number is a fault: the expected range of a possible number, else the possible range.
CREATE MACRO fault_reason(value, least, most, plausible_least, plausible_most) AS CASE
    WHEN value >= least AND value <= most THEN CONCAT('expected ', plausible_least, ' to ', plausible_most)
    ELSE CONCAT('a number from ', least, ' to ', most)
END;
