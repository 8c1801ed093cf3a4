-- Rule of energies and clocks that applies to each part, by quantity and row key. The matching rule with the longest architecture
-- name applies, else the rule of the family.
-- Grain: hardware, quantity, row_key
CREATE VIEW part_rule AS
WITH closest_rules AS (
    SELECT
        h.hardware,
        r.quantity,
        r.row_key,
        MAX_BY(
            {'value': r.value, 'silicon_rule': r.silicon_rule, 'source_id': r.source_id, 'confidence': r.confidence},
            ROW(CASE WHEN r.architecture = '*' THEN 0 ELSE LENGTH(r.architecture) END, r.family <> '*')
        ) AS rule
    FROM hardware AS h
    INNER JOIN silicon_rule AS r
        ON r.family IN ('*', h.family) AND (r.architecture = '*' OR STARTS_WITH(h.architecture, r.architecture))
    GROUP BY h.hardware, r.quantity, r.row_key
)

SELECT
    hardware,
    -- Quantity that the rule gives.
    quantity,
    -- Precision, unit, level, technology or process that the rule applies to, or `*`.
    row_key,
    -- Number of the rule.
    rule.value,
    -- Name of the rule.
    rule.silicon_rule,
    -- Source of the rule.
    rule.source_id,
    -- Confidence in the rule.
    rule.confidence
FROM closest_rules
