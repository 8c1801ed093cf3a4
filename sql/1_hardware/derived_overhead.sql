-- Fixed times that the rules give for the parts that do not state them.
-- Grain: hardware, overhead
CREATE VIEW derived_overhead AS
SELECT
    h.hardware,
    -- Which time.
    r.row_key AS overhead,
    r.derivation_rule,
    -- Its length. [s]
    r.value * b.value AS overhead_s
FROM hardware AS h
INNER JOIN derivation_rule AS r ON r.family = h.family AND r.quantity = 'overhead.overhead_s'
INNER JOIN part_basis AS b ON b.hardware = h.hardware AND b.basis = r.basis
LEFT JOIN hardware_overhead AS o ON o.hardware = h.hardware AND o.overhead = r.row_key
WHERE o.overhead IS NULL
