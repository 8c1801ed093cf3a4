-- Modifiers of every operator class on a part: relative costs of an operation, by which a kernel's cost is divided between its
-- operators. The row for the part's architecture class applies, else the row for all architectures.
-- Grain: hardware, operator_class
CREATE TABLE part_modifier AS
WITH faulty_rows AS (
    SELECT DISTINCT row_key FROM rule_fault
    WHERE kind = 'architectural_modifier' AND NOT is_possible
),

known_modifiers AS (
    SELECT
        h.hardware,
        c.operator_class,
        COALESCE(
            MAX(CASE WHEN a.operator_class <> '*' AND NOT a.is_fused THEN a.modifier END),
            MAX(CASE WHEN NOT a.is_fused THEN a.modifier END),
            1e0
        ) AS base_modifier,
        COALESCE(
            MAX(CASE WHEN a.operator_class <> '*' AND a.is_fused THEN a.modifier END),
            MAX(CASE WHEN a.is_fused THEN a.modifier END),
            1e0
        ) AS fused_modifier,
        COUNT(b.row_key) = 0 AS is_possible
    FROM hardware AS h
    INNER JOIN hardware_family AS f ON f.family = h.family
    CROSS JOIN operator_class AS c
    LEFT JOIN architectural_modifier AS a
        ON a.architecture_class = f.architecture_class AND a.operator_class IN ('*', c.operator_class)
    LEFT JOIN faulty_rows AS b ON b.row_key = CONCAT(a.operator_class, '.', a.architecture_class, '.', a.is_fused)
    GROUP BY h.hardware, c.operator_class
)

SELECT
    hardware,
    operator_class,
    -- Modifier in a separate kernel; null if a row that may apply has an impossible modifier (`rule_fault`).
    CASE WHEN is_possible THEN base_modifier END AS base_modifier,
    -- Modifier within a fused kernel; null if a row that may apply has an impossible modifier.
    CASE WHEN is_possible THEN fused_modifier END AS fused_modifier
FROM known_modifiers
