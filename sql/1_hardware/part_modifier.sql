-- Relative energy-delay weights of every operator class on a part, by which the operators of a kernel share its cost: those of
-- the class on the part's architecture, else those of all classes.
-- Grain: hardware, operator_class
CREATE VIEW part_modifier AS
SELECT
    h.hardware,
    c.operator_class,
    -- Weight in a kernel of its own.
    COALESCE(
        MAX(CASE WHEN a.operator_class <> '*' AND NOT a.is_fused THEN a.modifier END),
        MAX(CASE WHEN NOT a.is_fused THEN a.modifier END),
        1e0
    ) AS base_modifier,
    -- Weight within a fused kernel.
    COALESCE(
        MAX(CASE WHEN a.operator_class <> '*' AND a.is_fused THEN a.modifier END),
        MAX(CASE WHEN a.is_fused THEN a.modifier END),
        1e0
    ) AS fused_modifier
FROM hardware AS h
INNER JOIN hardware_family AS f ON f.family = h.family
CROSS JOIN operator_class AS c
LEFT JOIN architectural_modifier AS a
    ON a.architecture_class = f.architecture_class AND a.operator_class IN ('*', c.operator_class)
GROUP BY h.hardware, c.operator_class
