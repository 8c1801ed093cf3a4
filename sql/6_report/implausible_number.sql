-- Numbers of parts, rules and conditions that may be, though they hardly are: off by a unit, or forgotten. Answers that rest on
-- one name it (`model_report.implausible`, `part_cost.implausible`,
-- `training_step.implausible`).
-- Grain: hardware, field
CREATE VIEW implausible_number AS
SELECT
    -- Part; `*` of a rule or condition.
    hardware,
    field,
    value,
    rule
FROM part_fault
WHERE is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM rule_fault
WHERE is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM condition_fault
WHERE is_possible
UNION ALL
SELECT '*' AS hardware, field, value, rule FROM report_fault
WHERE is_possible
