-- Area and static power of every part: leakage, power of the clock trees, and standby power of the memory on the board.
-- Grain: hardware
CREATE VIEW part_leakage AS
WITH areas AS (
    SELECT
        hardware,
        SUM(area_mm2) AS area_mm2,
        SUM(leakage_w) AS leakage_w,
        SUM(clocking_w) AS clocking_w
    FROM part_area
    GROUP BY hardware
),

boards AS (
    SELECT m.hardware, m.capacity_byte / 1e9 * COALESCE(t.value, o.value) AS memory_w
    FROM part_memory AS m
    INNER JOIN part_rule AS o ON o.hardware = m.hardware AND o.quantity = 'memory_w_per_gbyte' AND o.row_key = '*'
    LEFT JOIN part_rule AS t
        ON t.hardware = m.hardware AND t.quantity = 'memory_w_per_gbyte' AND t.row_key = m.technology
    WHERE m.level = 'dram'
)

SELECT
    a.hardware,
    -- Area of the silicon that the part uses. [mm2]
    a.area_mm2,
    -- Side of a square of `area_mm2`. [mm]
    SQRT(a.area_mm2) AS side_mm,
    -- Leakage of the whole part at the reference voltage. [W]
    a.leakage_w,
    -- Power of the part's clock trees at the reference clock and voltage. [W]
    a.clocking_w,
    -- Standby power of the main memory on the board; 0 if the memory consists of modules of a host. [W]
    COALESCE(b.memory_w, 0e0) AS memory_w,
    -- Power of the idle part with gated clocks: stated, else leakage at the lowest voltage plus the memory. [W]
    COALESCE(w.idle_w, a.leakage_w * POWER(s.voltage_floor, 2) + COALESCE(b.memory_w, 0e0)) AS rest_w,
    -- True if the part states its idle power.
    w.idle_w IS NOT NULL AS is_stated
FROM areas AS a
INNER JOIN part_silicon AS s ON s.hardware = a.hardware
LEFT JOIN boards AS b ON b.hardware = a.hardware
LEFT JOIN hardware_power AS w ON w.hardware = a.hardware AND w.is_default
