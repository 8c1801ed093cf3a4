-- Impossible numbers of parts, rules and conditions, including the user's; answers that depend on one are null.
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
