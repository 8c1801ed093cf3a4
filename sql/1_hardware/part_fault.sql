-- Numbers of parts that cannot be, whoever wrote them: not between the bounds of `number_rule` (NaN is not), stated by the
-- catalog and gone, or what no part is without. Answers that rest on one are null.
-- Grain: hardware, field
CREATE TABLE part_fault AS
WITH named_numbers AS (
    SELECT hardware, kind, field, value, REGEXP_EXTRACT(field, '[^.]+$') AS quantity
    FROM traced_number
),

ruled_numbers AS (
    SELECT
        n.hardware,
        n.kind,
        n.field,
        n.value,
        COALESCE(r.least, a.least) AS least,
        COALESCE(r.most, a.most) AS most
    FROM named_numbers AS n
    INNER JOIN number_rule AS a ON a.kind = '*' AND a.quantity = '*'
    LEFT JOIN number_rule AS r ON r.kind = n.kind AND r.quantity = n.quantity
),

stated_numbers AS (
    SELECT p.hardware, SPLIT_PART(p.field, '.', 1) AS kind, p.field
    FROM hardware_provenance AS p
    INNER JOIN hardware AS h ON h.hardware = p.hardware
    LEFT JOIN traced_number AS v ON v.hardware = p.hardware AND v.field = p.field
    WHERE v.field IS NULL
),

needed_numbers AS (
    SELECT h.hardware, 'cluster' AS kind, 'cluster.*.unit_count' AS field
    FROM hardware AS h
    LEFT JOIN hardware_cluster AS c ON c.hardware = h.hardware
    WHERE c.hardware IS NULL
    UNION ALL
    SELECT h.hardware, 'memory' AS kind, 'memory.dram.bandwidth_byte_per_s' AS field
    FROM hardware AS h
    LEFT JOIN hardware_memory AS m
        ON m.hardware = h.hardware AND m.level = 'dram' AND m.bandwidth_byte_per_s IS NOT NULL
    WHERE m.hardware IS NULL
    UNION ALL
    SELECT h.hardware, 'overhead' AS kind, 'overhead.kernel_gap.overhead_s' AS field
    FROM hardware AS h
    LEFT JOIN part_overhead AS o ON o.hardware = h.hardware AND o.overhead = 'kernel_gap'
    WHERE o.hardware IS NULL
),

missing_numbers AS (
    SELECT hardware, kind, field FROM stated_numbers
    UNION
    SELECT hardware, kind, field FROM needed_numbers
)

SELECT
    hardware,
    -- What it is a number of: see `part_number`.
    kind,
    -- Place of the number.
    field,
    -- What stands there; null where nothing does. In the unit of the field.
    value,
    -- What may stand there.
    CONCAT('a number from ', least, ' to ', most) AS rule
FROM ruled_numbers
WHERE NOT (value >= least AND value <= most)
UNION ALL
SELECT hardware, kind, field, CAST(NULL AS DOUBLE) AS value, 'a part is not without it' AS rule
FROM missing_numbers
