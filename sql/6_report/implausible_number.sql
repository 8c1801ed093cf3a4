-- Possible but implausible numbers of parts, rules and conditions, for example numbers in a wrong unit or removed numbers. An
-- answer that depends on an implausible number lists it (`model_report.implausible`, `part_cost.implausible`,
-- `training_step.implausible`).
-- Grain: hardware, field
CREATE VIEW implausible_number AS
SELECT
    -- Part that has the number; `*` for a number of a rule or condition.
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
