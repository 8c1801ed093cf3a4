-- Area and static power of each piece of every part's silicon: arithmetic by width, units, memories, interfaces of main memory and
-- links, and the rest. Areas include the channels between pieces. A published die area is used only to check the sum (`die_check`).
-- Grain: hardware, silicon_piece
CREATE TABLE part_area AS
WITH cluster_clocks AS (
    SELECT
        hardware,
        MAX(clock_boost_hz) AS clock_boost_hz,
        MAX(clock_matrix_hz) AS clock_matrix_hz,
        MAX(CASE WHEN kind = 'domain_flow' THEN 'matrix' END) AS only_unit
    FROM part_cluster
    GROUP BY hardware
),

-- One array of multipliers serves all formats of its unit except fp64, and elements of domain-flow arrays also do vector work. The
-- format with the largest area decides.
arithmetic AS (
    SELECT
        k.hardware,
        CASE WHEN k.precision = 'fp64' THEN 'arithmetic.wide' ELSE CONCAT('arithmetic.', COALESCE(c.only_unit, k.unit)) END AS silicon_piece,
        'logic' AS kind,
        MAX(
            k.peak_ops_per_s / 2e0 * m.value * f.value * s.logic_ratio / 1e6 / NULLIF(
                COALESCE(
                    CASE WHEN k.unit = 'matrix' THEN c.clock_matrix_hz END, c.clock_boost_hz, s.reference_clock_hz
                ), 0e0
            )
        ) AS placed_mm2
    FROM part_peak AS k
    INNER JOIN part_silicon AS s ON s.hardware = k.hardware
    INNER JOIN part_rule AS m ON m.hardware = k.hardware AND m.quantity = 'mac_um2' AND m.row_key = k.precision
    INNER JOIN part_rule AS f ON f.hardware = k.hardware AND f.quantity = 'mac_area_factor'
    LEFT JOIN cluster_clocks AS c ON c.hardware = k.hardware
    GROUP BY k.hardware, CASE WHEN k.precision = 'fp64' THEN 'arithmetic.wide' ELSE CONCAT('arithmetic.', COALESCE(c.only_unit, k.unit)) END
),

units AS (
    SELECT
        c.hardware,
        CONCAT('unit.', c.cluster) AS silicon_piece,
        'logic' AS kind,
        c.unit_count * (COALESCE(e.value, u.value) + COALESCE(c.lanes, 0e0) * l.value) * s.logic_ratio / 1e6 AS placed_mm2
    FROM part_cluster AS c
    INNER JOIN part_silicon AS s ON s.hardware = c.hardware
    INNER JOIN part_rule AS u ON u.hardware = c.hardware AND u.quantity = 'unit_um2' AND u.row_key = '*'
    INNER JOIN part_rule AS l ON l.hardware = c.hardware AND l.quantity = 'lane_um2'
    LEFT JOIN part_rule AS e ON e.hardware = c.hardware AND e.quantity = 'unit_um2' AND e.row_key = c.cluster
),

memories AS (
    SELECT hardware, CONCAT('memory.', level) AS silicon_piece, 'sram' AS kind, area_mm2 AS placed_mm2
    FROM sram_energy
),

interfaces AS (
    SELECT
        m.hardware,
        'phy.dram' AS silicon_piece,
        'phy' AS kind,
        m.bandwidth_byte_per_s / 1e9 * COALESCE(t.value, o.value) AS placed_mm2
    FROM part_memory AS m
    INNER JOIN part_rule AS o
        ON o.hardware = m.hardware AND o.quantity = 'phy_mm2_per_gbyte_per_s' AND o.row_key = '*'
    LEFT JOIN part_rule AS t
        ON t.hardware = m.hardware AND t.quantity = 'phy_mm2_per_gbyte_per_s' AND t.row_key = m.technology
    WHERE m.level = 'dram' AND m.bandwidth_byte_per_s IS NOT NULL
    UNION ALL
    SELECT
        i.hardware,
        CONCAT('phy.', i.interconnect) AS silicon_piece,
        'phy' AS kind,
        i.bandwidth_byte_per_s / 1e9 * r.value AS placed_mm2
    FROM hardware_interconnect AS i
    INNER JOIN part_rule AS r ON r.hardware = i.hardware AND r.quantity = 'link_mm2_per_gbyte_per_s'
    -- A link with an impossible bandwidth makes plans over this link null and adds no area.
    WHERE i.bandwidth_byte_per_s BETWEEN 0e0 AND 1e15
    UNION ALL
    SELECT hardware, 'uncore' AS silicon_piece, 'uncore' AS kind, value AS placed_mm2
    FROM part_rule
    WHERE quantity = 'uncore_mm2'
),

pieces AS (
    SELECT hardware, silicon_piece, kind, placed_mm2 FROM arithmetic
    UNION ALL
    SELECT hardware, silicon_piece, kind, placed_mm2 FROM units
    UNION ALL
    SELECT hardware, silicon_piece, kind, placed_mm2 FROM memories
    UNION ALL
    SELECT hardware, silicon_piece, kind, placed_mm2 FROM interfaces
)

SELECT
    p.hardware,
    -- Piece of the silicon: `arithmetic.matrix`, `unit.sm`, `memory.l2`, `phy.dram`, `uncore`, ...
    p.silicon_piece,
    -- Kind of the piece: `logic`, `sram`, `phy` or `uncore`.
    p.kind,
    -- Area of the piece, a share of the channels between pieces included. [mm2]
    p.placed_mm2 * s.layout_factor AS area_mm2,
    -- Leakage of the piece at the reference voltage. [W]
    p.placed_mm2 * s.layout_factor * s.leakage_density * l.value AS leakage_w,
    -- Power of the piece's clock tree at the reference clock and voltage. [W]
    p.placed_mm2 * s.layout_factor * s.clocking_density * c.value AS clocking_w
FROM pieces AS p
INNER JOIN part_silicon AS s ON s.hardware = p.hardware
INNER JOIN part_rule AS l ON l.hardware = p.hardware AND l.quantity = 'leakage_share' AND l.row_key = p.kind
INNER JOIN part_rule AS c ON c.hardware = p.hardware AND c.quantity = 'clocking_share' AND c.row_key = p.kind
WHERE p.placed_mm2 > 0e0
