-- Reason for a number's fault: its expected range if it is possible, else its possible range.
CREATE MACRO fault_reason(value, least, most, plausible_least, plausible_most) AS CASE
    WHEN value >= least AND value <= most THEN CONCAT('expected ', plausible_least, ' to ', plausible_most)
    ELSE CONCAT('a number from ', least, ' to ', most)
END;
