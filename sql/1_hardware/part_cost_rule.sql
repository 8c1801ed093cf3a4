-- Numbers of `cost_rule` for each part, by its process and main-memory technology, in three bands: middle, cheap and dear. A
-- process without a row uses the row of the nearest process; in a tie, of the finer process.
-- Grain: hardware, band
CREATE VIEW part_cost_rule AS
WITH rule_ends AS (
    SELECT cost_rule, quantity, row_key, 'middle' AS band, 'value' AS end_column, value FROM cost_rule
    UNION ALL
    SELECT cost_rule, quantity, row_key, 'cheap' AS band, 'cheap_value' AS end_column, cheap_value AS value FROM cost_rule
    UNION ALL
    SELECT cost_rule, quantity, row_key, 'dear' AS band, 'dear_value' AS end_column, dear_value AS value FROM cost_rule
),

-- An impossible number counts as missing (`report_fault`).
sound_rules AS (
    SELECT e.quantity, e.row_key, e.band, e.value
    FROM rule_ends AS e
    LEFT JOIN report_fault AS f ON f.field = CONCAT('cost_rule.', e.cost_rule, '.', e.end_column) AND NOT f.is_possible
    WHERE f.field IS NULL
),

usual_rules AS (
    SELECT
        band,
        MAX(CASE WHEN quantity = 'yield_cluster' THEN value END) AS yield_cluster,
        MAX(CASE WHEN quantity = 'wafer_mm' THEN value END) AS wafer_mm,
        MAX(CASE WHEN quantity = 'edge_loss_mm' THEN value END) AS edge_loss_mm,
        MAX(CASE WHEN quantity = 'scribe_mm' THEN value END) AS scribe_mm,
        MAX(CASE WHEN quantity = 'reticle_mm2' THEN value END) AS reticle_mm2,
        MAX(CASE WHEN quantity = 'join_area_factor' THEN value END) AS join_area_factor,
        MAX(CASE WHEN quantity = 'join_yield_fraction' THEN value END) AS join_yield_fraction,
        MAX(CASE WHEN quantity = 'package_usd_per_mm2' THEN value END) AS carrier_price,
        MAX(CASE WHEN quantity = 'package_usd' THEN value END) AS case_usd,
        MAX(CASE WHEN quantity = 'memory_usd_per_gbyte' THEN value END) AS memory_price,
        MAX(CASE WHEN quantity = 'board_ratio' THEN value END) AS board_ratio
    FROM sound_rules
    WHERE row_key = '*'
    GROUP BY band
),

technology_rules AS (
    SELECT
        band,
        row_key AS technology,
        MAX(CASE WHEN quantity = 'join_yield_fraction' THEN value END) AS join_yield_fraction,
        MAX(CASE WHEN quantity = 'package_usd_per_mm2' THEN value END) AS carrier_price,
        MAX(CASE WHEN quantity = 'memory_usd_per_gbyte' THEN value END) AS memory_price
    FROM sound_rules
    WHERE row_key <> '*' AND quantity IN ('join_yield_fraction', 'package_usd_per_mm2', 'memory_usd_per_gbyte')
    GROUP BY band, row_key
),

used_processes AS (
    SELECT DISTINCT process_nm FROM part_silicon
),

nearest_rules AS (
    SELECT
        p.process_nm,
        r.band,
        r.quantity,
        MIN_BY(r.value, ROW(ABS(CAST(r.row_key AS DOUBLE) - p.process_nm), CAST(r.row_key AS DOUBLE))) AS value
    FROM used_processes AS p
    INNER JOIN sound_rules AS r ON r.quantity IN ('wafer_usd', 'defect_per_cm2')
    GROUP BY p.process_nm, r.band, r.quantity
),

process_rules AS (
    SELECT
        process_nm,
        band,
        MAX(CASE WHEN quantity = 'wafer_usd' THEN value END) AS wafer_usd,
        MAX(CASE WHEN quantity = 'defect_per_cm2' THEN value END) AS defect_density
    FROM nearest_rules
    GROUP BY process_nm, band
),

main_memories AS (
    SELECT hardware, technology, capacity_byte FROM part_memory WHERE level = 'dram'
)

SELECT
    s.hardware,
    -- Band of the numbers: `middle`, `cheap` or `dear`.
    u.band,
    -- Clustering parameter of the defect distribution; a larger value lowers the yield of large dice.
    u.yield_cluster,
    -- Diameter of a wafer without its rim. [mm]
    u.wafer_mm - 2e0 * u.edge_loss_mm AS used_mm,
    -- Width of the lane between dice. [mm]
    u.scribe_mm,
    -- Largest area of one exposure. [mm2]
    u.reticle_mm2,
    -- Ratio of the silicon area of several dice to that of one die with the same content.
    u.join_area_factor,
    -- Price of a wafer. [USD]
    p.wafer_usd,
    -- Defects per square centimetre.
    p.defect_density,
    -- Share of packages that are good after bonding a die.
    COALESCE(t.join_yield_fraction, u.join_yield_fraction) AS join_yield_fraction,
    -- Dollars of the carrier per square millimetre of silicon.
    COALESCE(t.carrier_price, u.carrier_price) AS carrier_price,
    -- Price of a package of zero area. [USD]
    u.case_usd,
    -- Price of the main memory on the board; 0 if the memory consists of modules of a host. [USD]
    COALESCE(m.capacity_byte, 0e0) / 1e9 * COALESCE(t.memory_price, u.memory_price) AS memory_usd,
    -- Ratio of the price with board, regulators and cooling to the price of the contents.
    u.board_ratio
FROM part_silicon AS s
INNER JOIN process_rules AS p ON p.process_nm = s.process_nm
INNER JOIN usual_rules AS u ON u.band = p.band
LEFT JOIN main_memories AS m ON m.hardware = s.hardware
LEFT JOIN technology_rules AS t ON t.band = p.band AND t.technology = m.technology
