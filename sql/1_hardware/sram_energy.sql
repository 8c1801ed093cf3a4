-- Area of every on-chip memory, and its energy per byte at the reference voltage: an access to a bank plus the wires across the
-- bank. A level shared by all units has as many banks as there are units. The accumulators of an array are a bank, with the scope
-- `array`, where the rules do not count their area with that of the array.
-- Grain: hardware, level
CREATE VIEW sram_energy AS
WITH level_rules AS (
    SELECT
        hardware,
        MAX(CASE WHEN quantity = 'sram_fill_least' THEN value END) AS fill_least,
        MAX(CASE WHEN quantity = 'sram_fill_doubling' THEN value END) AS fill_doubling,
        MAX(CASE WHEN quantity = 'sram_fill_most' THEN value END) AS fill_most,
        MAX(CASE WHEN quantity = 'tag_factor' THEN value END) AS tag_factor,
        MAX(CASE WHEN quantity = 'port_factor' THEN value END) AS port_factor,
        MAX(CASE WHEN quantity = 'sram_access_ratio' THEN value END) AS access_ratio,
        MAX(CASE WHEN quantity = 'sram_wire_ratio_per_mm' THEN value END) AS wire_ratio,
        MAX(CASE WHEN quantity = 'level_lift' THEN value END) AS level_lift
    FROM part_rule
    WHERE row_key = '*'
    GROUP BY hardware
),

banks AS (
    SELECT
        m.hardware,
        m.level,
        m.scope,
        COALESCE(u.unit_count, 1e0) AS bank_count,
        m.capacity_byte / NULLIF(CASE WHEN m.scope = 'unit' THEN 1e0 ELSE COALESCE(u.unit_count, 1e0) END, 0e0) AS bank_byte,
        CASE WHEN m.management = 'hardware' THEN r.tag_factor ELSE 1e0 END * COALESCE(o.value, r.port_factor) AS cell_factor,
        COALESCE(f.value, r.level_lift) AS lift,
        r.fill_least,
        r.fill_doubling,
        r.fill_most,
        r.access_ratio,
        r.wire_ratio
    FROM part_memory AS m
    INNER JOIN level_rules AS r ON r.hardware = m.hardware
    LEFT JOIN part_unit AS u ON u.hardware = m.hardware
    LEFT JOIN part_rule AS o ON o.hardware = m.hardware AND o.quantity = 'port_factor' AND o.row_key = m.level
    LEFT JOIN part_rule AS f ON f.hardware = m.hardware AND f.quantity = 'level_lift' AND f.row_key = m.level
    WHERE m.level <> 'dram'
    UNION ALL
    SELECT
        c.hardware,
        CONCAT('accumulator.', c.cluster) AS level,
        'array' AS scope,
        c.unit_count AS bank_count,
        c.array_columns * c.accumulator_rows * a.value AS bank_byte,
        r.port_factor AS cell_factor,
        r.level_lift AS lift,
        r.fill_least,
        r.fill_doubling,
        r.fill_most,
        r.access_ratio,
        r.wire_ratio
    FROM part_cluster AS c
    INNER JOIN level_rules AS r ON r.hardware = c.hardware
    INNER JOIN part_rule AS a ON a.hardware = c.hardware AND a.quantity = 'accumulator_byte'
    WHERE c.array_columns IS NOT NULL AND c.accumulator_rows > 0
),

filled_banks AS (
    SELECT
        *,
        LEAST(fill_most, GREATEST(fill_least, fill_least + fill_doubling * LOG2(NULLIF(bank_byte, 0e0) / 2048e0)))
            AS fill_fraction
    FROM banks
),

placed_banks AS (
    SELECT
        b.*,
        s.circuit_j,
        b.bank_byte * s.byte_cell_mm2 * b.cell_factor / NULLIF(b.fill_fraction, 0e0) AS bank_mm2
    FROM filled_banks AS b
    INNER JOIN part_silicon AS s ON s.hardware = b.hardware
)

SELECT
    hardware,
    level,
    scope,
    -- Number of banks of the part.
    CAST(bank_count AS DOUBLE) AS bank_count,
    -- Size of a bank; a memory of one unit is one bank. [byte]
    bank_byte,
    -- Share of a bank's area that bit cells occupy.
    fill_fraction,
    -- Area of all banks, without channels. [mm2]
    bank_count * bank_mm2 AS area_mm2,
    -- Ratio of the energy of a byte in practice to the energy of the bank and its wires.
    lift,
    -- Energy of a byte from a bank at the reference voltage, without the wires to the bank. [J/byte]
    lift * circuit_j * (access_ratio + wire_ratio * SQRT(bank_mm2)) AS bank_j_per_byte
FROM placed_banks
