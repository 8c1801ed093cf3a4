-- Numbers of the rules about parts that cannot be or are not plausible (`number_rule`), whoever wrote them.
-- Grain: kind, row_key, quantity
CREATE TABLE rule_fault AS
WITH ruled_numbers AS (
    SELECT
        n.kind,
        n.row_key,
        n.quantity,
        n.value,
        MAX_BY(
            {
                'least': r.least,
                'most': r.most,
                'plausible_least': r.plausible_least,
                'plausible_most': r.plausible_most,
                'is_needed': r.is_needed
            },
            ROW(r.row_kind <> '*', r.of_family <> '*')
        ) AS rule
    FROM rule_number AS n
    INNER JOIN number_rule AS r
        ON r.kind = n.kind AND r.quantity = n.quantity AND r.row_kind IN ('*', n.row_kind) AND r.of_family IN ('*', n.family)
    GROUP BY n.kind, n.row_key, n.quantity, n.value
)

SELECT
    -- Table of the rule.
    kind,
    -- Key of its row, the columns joined by a point.
    row_key,
    -- Column of the number.
    quantity,
    -- Place of the number: all three, joined by a point.
    CONCAT(kind, '.', row_key, '.', quantity) AS field,
    -- What stands there, in the unit of the column; null where nothing does.
    value,
    -- What may stand there, or usually does.
    fault_reason(COALESCE(value, rule.least), rule.least, rule.most, rule.plausible_least, rule.plausible_most) AS rule,
    -- True of a number that may be, though it hardly is: answers that rest on it name it.
    COALESCE(value >= rule.least AND value <= rule.most, TRUE) AS is_possible
FROM ruled_numbers
WHERE COALESCE(
    NOT (value >= rule.least AND value <= rule.most AND value >= rule.plausible_least AND value <= rule.plausible_most),
    rule.is_needed
)
