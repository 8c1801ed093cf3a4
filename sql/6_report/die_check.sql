-- Area of every part by the rules of its process, compared with the published area of its die. Areas of units are scaled to all
-- units of the die, disabled ones included. Areas of the die that do not belong to the part are left out.
-- Grain: hardware
CREATE VIEW die_check AS
WITH areas AS (
    SELECT
        a.hardware,
        SUM(CASE WHEN a.kind = 'logic' OR m.scope = 'unit' THEN a.area_mm2 ELSE 0e0 END) AS unit_mm2,
        SUM(CASE WHEN a.kind = 'logic' OR m.scope = 'unit' THEN 0e0 ELSE a.area_mm2 END) AS shared_mm2
    FROM part_area AS a
    LEFT JOIN part_memory AS m ON m.hardware = a.hardware AND CONCAT('memory.', m.level) = a.silicon_piece
    GROUP BY a.hardware
),

compared_dice AS (
    SELECT
        d.hardware,
        d.die,
        d.die_area_mm2 - d.other_mm2 AS printed_mm2,
        a.unit_mm2 * COALESCE(d.unit_count / NULLIF(u.unit_count, 0e0), 1e0) + a.shared_mm2 AS ruled_mm2,
        u.unit_count * u.lanes * u.lanes AS used,
        d.source_id,
        d.confidence
    FROM die AS d
    INNER JOIN areas AS a ON a.hardware = d.hardware
    INNER JOIN part_unit AS u ON u.hardware = d.hardware
    WHERE d.die_area_mm2 IS NOT NULL
)

SELECT
    hardware,
    die,
    -- Published area without other areas of the die. [mm2]
    printed_mm2,
    -- Area by the rules for all units of the die. [mm2]
    ruled_mm2,
    -- Ratio of the area by the rules to the published area.
    ruled_mm2 / NULLIF(printed_mm2, 0e0) AS area_ratio,
    -- True for one part of each die: the part with the most units, which represents the die.
    ROW_NUMBER() OVER (PARTITION BY die ORDER BY used DESC, hardware) = 1 AS stands_for_die,
    source_id,
    confidence
FROM compared_dice
