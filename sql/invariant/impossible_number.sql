-- Numbers of parts that cannot be, whoever wrote them; answers that rest on one are null.
-- Grain: hardware, field
CREATE VIEW impossible_number AS
SELECT
    hardware,
    field,
    value,
    rule
FROM part_fault
