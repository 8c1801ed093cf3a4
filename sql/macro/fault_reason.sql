-- Why a number is a fault: what is usual where it can be, and what can be where it cannot.
CREATE MACRO fault_reason(value, least, most, plausible_least, plausible_most) AS CASE
    WHEN value >= least AND value <= most THEN CONCAT('usual are ', plausible_least, ' to ', plausible_most)
    ELSE CONCAT('a number from ', least, ' to ', most)
END;
