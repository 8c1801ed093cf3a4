-- Numbers of `cost_rule` that cannot be or are not plausible (`number_rule`). No time and no energy rests on them: dollars that do
-- are null (`part_cost`), and no answer at hand is touched.
-- Grain: field
CREATE VIEW cost_fault AS
WITH listed_numbers AS (
    SELECT
        cost_rule,
        quantity AS row_kind,
        UNNEST(['value', 'cheap_value', 'dear_value']) AS quantity,
        UNNEST([value, cheap_value, dear_value]) AS value
    FROM cost_rule
),

ruled_numbers AS (
    SELECT
        n.cost_rule,
        n.quantity,
        n.value,
        MAX_BY(r.least, r.row_kind <> '*') AS least,
        MAX_BY(r.most, r.row_kind <> '*') AS most,
        MAX_BY(r.plausible_least, r.row_kind <> '*') AS plausible_least,
        MAX_BY(r.plausible_most, r.row_kind <> '*') AS plausible_most
    FROM listed_numbers AS n
    INNER JOIN number_rule AS r ON r.kind = 'cost_rule' AND r.quantity = n.quantity AND r.row_kind IN ('*', n.row_kind)
    GROUP BY n.cost_rule, n.quantity, n.value
)

SELECT
    -- Place of the number: table, row and column, joined by a point.
    CONCAT('cost_rule.', cost_rule, '.', quantity) AS field,
    -- What stands there, in the unit of the row; null where nothing does.
    value,
    -- What may stand there, or usually does.
    fault_reason(COALESCE(value, least), least, most, plausible_least, plausible_most) AS rule,
    -- True of a number that may be, though it hardly is.
    COALESCE(value >= least AND value <= most, FALSE) AS is_possible
FROM ruled_numbers
WHERE COALESCE(
    NOT (value >= least AND value <= most AND value >= plausible_least AND value <= plausible_most), TRUE
)
