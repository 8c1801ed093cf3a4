-- Impossible numbers of parts, rules and conditions, shipped or written by users. An answer that depends on an impossible number is
-- null.
-- Grain: hardware, field
CREATE VIEW impossible_number AS
SELECT
    hardware,
    field,
    value,
    rule
FROM part_fault
WHERE NOT is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM rule_fault
WHERE NOT is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM condition_fault
WHERE NOT is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM report_fault
WHERE NOT is_possible
