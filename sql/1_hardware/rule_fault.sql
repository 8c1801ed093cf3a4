-- Impossible or implausible numbers (`number_rule`) of the rules about parts, shipped or written by users.
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
),

-- Ranges of the query blocks of a family must be contiguous: the first begins at zero queries, each other where another ends.
disordered_blocks AS (
    SELECT CONCAT(s.family, '.', s.candidate) AS row_key
    FROM tiling_strategy AS s
    LEFT JOIN tiling_strategy AS o
        ON o.family = s.family AND o.dataflow = s.dataflow AND o.candidate <> s.candidate
    WHERE s.dataflow = 'query_block'
    GROUP BY s.family, s.candidate, s.from_m
    HAVING COALESCE(BOOL_OR(o.from_m = s.from_m), FALSE)
        OR COALESCE(s.from_m > 0 AND NOT COALESCE(BOOL_OR(o.below_m = s.from_m), FALSE), TRUE)
)

SELECT
    -- Table that contains the rule.
    n.kind,
    -- Key of the rule's row: its columns, joined by points.
    n.row_key,
    -- Column that contains the number.
    n.quantity,
    -- Field name of the number: table, key and column, joined by points.
    CONCAT(n.kind, '.', n.row_key, '.', n.quantity) AS field,
    -- Current value, in the unit of the column; null where it is missing.
    n.value,
    -- Range of possible or expected values.
    CASE
        WHEN b.row_key IS NOT NULL THEN 'each block of queries begins where another ends'
        ELSE fault_reason(
            COALESCE(n.value, n.rule.least), n.rule.least, n.rule.most, n.rule.plausible_least, n.rule.plausible_most
        )
    END AS rule,
    -- True for a possible but implausible number; answers that depend on the number list it.
    COALESCE(n.value >= n.rule.least AND n.value <= n.rule.most, TRUE) AS is_possible
FROM ruled_numbers AS n
LEFT JOIN disordered_blocks AS b ON n.kind = 'tiling_strategy' AND n.quantity = 'from_m' AND b.row_key = n.row_key
WHERE b.row_key IS NOT NULL OR COALESCE(
    NOT (
        n.value >= n.rule.least AND n.value <= n.rule.most
        AND n.value >= n.rule.plausible_least AND n.value <= n.rule.plausible_most
    ),
    n.rule.is_needed
)
