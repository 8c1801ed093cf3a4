-- Fixed times that rules give for parts that do not state them. The matching rule with the longest architecture name applies, else
-- the rule of the family.
-- Grain: hardware, overhead
CREATE VIEW derived_overhead AS
WITH closest_rules AS (
    SELECT
        h.hardware,
        r.row_key AS overhead,
        MAX_BY(
            {'derivation_rule': r.derivation_rule, 'basis': r.basis, 'value': r.value},
            CASE WHEN r.architecture = '*' THEN 0 ELSE LENGTH(r.architecture) END
        ) AS rule
    FROM hardware AS h
    INNER JOIN derivation_rule AS r
        ON r.family = h.family
        AND r.quantity = 'overhead.overhead_s'
        AND (r.architecture = '*' OR STARTS_WITH(h.architecture, r.architecture))
    GROUP BY h.hardware, r.row_key
)

SELECT
    c.hardware,
    -- Kind of fixed time.
    c.overhead,
    -- Row of `derivation_rule` that gives the time.
    rule.derivation_rule,
    -- Duration of the fixed time. [s]
    rule.value * b.value AS overhead_s
FROM closest_rules AS c
INNER JOIN part_basis AS b ON b.hardware = c.hardware AND b.basis = rule.basis
LEFT JOIN hardware_overhead AS o ON o.hardware = c.hardware AND o.overhead = c.overhead
WHERE o.overhead IS NULL
