-- Impossible or implausible numbers of parts, including the user's: outside the bounds of `number_rule` (as NaN is), removed
-- although the catalog states them, or missing although every part has them. Answers that depend on an impossible number are null.
-- Grain: hardware, field
CREATE TABLE part_fault AS
WITH shipped_numbers AS (
    SELECT
        hardware,
        UNNEST(['dram_byte_per_s', 'unit_ops_per_s', 'unit_count', 'unit_l1_byte', 'unit_l2_byte']) AS quantity,
        UNNEST([dram_byte_per_s, unit_ops_per_s, unit_count, unit_l1_byte, unit_l2_byte]) AS value
    FROM shipped_part
),

named_numbers AS (
    SELECT
        n.hardware,
        n.kind,
        n.field,
        n.value,
        h.family,
        CASE WHEN n.kind = 'energy' THEN 'value' ELSE REGEXP_EXTRACT(n.field, '[^.]+$') END AS quantity,
        SPLIT_PART(n.field, '.', 2) AS row_kind
    FROM traced_number AS n
    INNER JOIN hardware AS h ON h.hardware = n.hardware
    UNION ALL
    SELECT
        n.hardware,
        'shipped_part' AS kind,
        CONCAT('shipped_part.', n.quantity) AS field,
        n.value,
        h.family,
        n.quantity,
        '*' AS row_kind
    FROM shipped_numbers AS n
    INNER JOIN hardware AS h ON h.hardware = n.hardware
    WHERE n.value IS NOT NULL
),

ruled_numbers AS (
    SELECT
        n.hardware,
        n.kind,
        n.field,
        n.value,
        MAX_BY(
            {
                'least': r.least,
                'most': r.most,
                'plausible_least': r.plausible_least,
                'plausible_most': r.plausible_most
            },
            ROW(r.row_kind <> '*', r.of_family <> '*')
        ) AS rule
    FROM named_numbers AS n
    INNER JOIN number_rule AS r
        ON r.kind = n.kind AND r.quantity = n.quantity AND r.row_kind IN ('*', n.row_kind) AND r.of_family IN ('*', n.family)
    GROUP BY n.hardware, n.kind, n.field, n.value
),

stated_numbers AS (
    SELECT p.hardware, SPLIT_PART(p.field, '.', 1) AS kind, p.field
    FROM hardware_provenance AS p
    INNER JOIN hardware AS h ON h.hardware = p.hardware
    LEFT JOIN traced_number AS v ON v.hardware = p.hardware AND v.field = p.field
    WHERE v.field IS NULL
),

-- Numbers that the catalog states but that were removed, so that a rule gives them.
forgotten_numbers AS (
    SELECT v.hardware, v.kind, v.field, v.value, CONCAT('the catalog states ', p.catalog_value) AS rule
    FROM hardware_provenance AS p
    INNER JOIN traced_number AS v ON v.hardware = p.hardware AND v.field = p.field
    WHERE v.stated_value IS NULL
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
),

followed_rules AS (
    SELECT p.hardware, 'energy' AS kind, 'silicon_rule' AS rule_kind, p.silicon_rule AS row_key
    FROM part_rule AS p
    UNION ALL
    SELECT h.hardware, 'hardware' AS kind, 'cuda_limit' AS rule_kind, h.compute_capability AS row_key
    FROM hardware AS h
    WHERE h.compute_capability IS NOT NULL
    UNION ALL
    SELECT m.hardware, 'memory' AS kind, 'memory_level' AS rule_kind, m.level AS row_key
    FROM part_memory AS m
),

-- A derived number is checked like a stated number; the fault names the rule.
faulty_rules AS (
    SELECT f.hardware, f.kind, r.field, r.value, r.rule, r.is_possible
    FROM followed_rules AS f
    INNER JOIN rule_fault AS r ON r.kind = f.rule_kind AND r.row_key = f.row_key
    UNION ALL
    SELECT i.hardware, 'interconnect' AS kind, CONCAT('interconnect.', i.interconnect, '.', r.field) AS field, r.value, r.rule, r.is_possible
    FROM hardware_interconnect AS i
    INNER JOIN collective AS c ON c.interconnect IN ('*', i.interconnect)
    INNER JOIN rule_fault AS r ON r.kind = 'collective' AND r.row_key = c.interconnect
    LEFT JOIN collective AS own ON c.interconnect = '*' AND own.interconnect = i.interconnect
    WHERE own.interconnect IS NULL
)

SELECT
    hardware,
    -- Kind of the number as in `part_number`; `shipped_part` for a number of the part's file.
    kind,
    -- Field name of the number.
    field,
    -- Current value in the unit of the field; null where it is missing.
    value,
    -- Range of possible or expected values.
    fault_reason(value, rule.least, rule.most, rule.plausible_least, rule.plausible_most) AS rule,
    -- True for a possible but implausible number; answers that depend on the number list it.
    COALESCE(value >= rule.least AND value <= rule.most, FALSE) AS is_possible
FROM ruled_numbers
WHERE NOT (value >= rule.least AND value <= rule.most AND value >= rule.plausible_least AND value <= rule.plausible_most)
UNION ALL
SELECT hardware, kind, field, CAST(NULL AS DOUBLE) AS value, 'every part needs one' AS rule, FALSE AS is_possible
FROM missing_numbers
UNION ALL
SELECT hardware, kind, field, value, rule, TRUE AS is_possible FROM forgotten_numbers
UNION ALL
SELECT DISTINCT hardware, kind, field, value, rule, is_possible FROM faulty_rules
