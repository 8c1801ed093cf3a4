-- Area, idle power and manufacturing cost of every part, existing or not. The cost is comparable between parts, not with prices: it
-- contains dice, package, memory and board by rows of `cost_rule`, but no design, margin or rent. Dice per wafer follow Chiplet
-- Actuary (Feng and Ma 2022); yield is negative binomial (Stapper 1973). `low_usd` and `high_usd` use the cheap and the dear end of
-- every rule.
-- Grain: hardware
CREATE VIEW part_cost AS
-- The silicon (`part_area`) is cut into the number of equal dice that the part states, or into the fewest dice that a scanner can
-- expose.
WITH counted_dice AS (
    SELECT
        l.area_mm2,
        l.rest_w,
        r.*,
        GREATEST(
            COALESCE(h.die_count, 1e0),
            CASE
                WHEN l.area_mm2 <= r.reticle_mm2 THEN 1e0
                ELSE CEIL(l.area_mm2 * r.join_area_factor / NULLIF(r.reticle_mm2, 0e0))
            END
        ) AS die_count
    FROM part_leakage AS l
    INNER JOIN hardware AS h ON h.hardware = l.hardware
    INNER JOIN part_cost_rule AS r ON r.hardware = l.hardware
),

cut_dice AS (
    SELECT
        *,
        area_mm2 * CASE WHEN die_count > 1e0 THEN join_area_factor ELSE 1e0 END / NULLIF(die_count, 0e0) AS die_area_mm2
    FROM counted_dice
),

-- Every defect makes a die unusable; dice that are sold with disabled units are not counted.
yielded_dice AS (
    SELECT
        *,
        POWER(1e0 + die_area_mm2 / 1e2 * defect_density / NULLIF(yield_cluster, 0e0), -yield_cluster) AS yield_fraction,
        PI() * POWER(used_mm / 2e0 / NULLIF(SQRT(die_area_mm2) + scribe_mm, 0e0), 2)
        - PI() / SQRT(2e0) * used_mm / NULLIF(SQRT(die_area_mm2) + scribe_mm, 0e0) AS dice
    FROM cut_dice
),

made_dice AS (
    SELECT
        *,
        dice * yield_fraction AS good_dice,
        CASE WHEN dice > 0e0 THEN die_count * wafer_usd / NULLIF(dice * yield_fraction, 0e0) END AS die_usd,
        case_usd + die_count * die_area_mm2 * carrier_price AS carrier_usd,
        POWER(join_yield_fraction, die_count) AS joined_fraction
    FROM yielded_dice
),

made_parts AS (
    SELECT
        *,
        carrier_usd / NULLIF(joined_fraction, 0e0) + die_usd * (1e0 / NULLIF(joined_fraction, 0e0) - 1e0) AS packaged_usd
    FROM made_dice
),

summed_parts AS (
    SELECT
        *,
        (die_usd + packaged_usd + memory_usd) * board_ratio AS board_usd,
        (die_usd + packaged_usd + memory_usd) * (1e0 + board_ratio) AS part_usd
    FROM made_parts
),

named_faults AS (
    SELECT STRING_AGG(field, ', ' ORDER BY field) AS implausible FROM report_fault WHERE kind = 'cost_rule'
)

SELECT
    hardware,
    -- Area of all the part's silicon, without the area that joins several dice. [mm2]
    MAX(area_mm2) AS area_mm2,
    -- Power of the idle part with gated clocks. [W]
    MAX(rest_w) AS rest_w,
    -- Number of equal dice of the part.
    MAX(CASE WHEN band = 'middle' THEN die_count END) AS die_count,
    -- Area of one die, its links to other dice included. [mm2]
    MAX(CASE WHEN band = 'middle' THEN die_area_mm2 END) AS die_area_mm2,
    -- Yield: share of the dice without a defect.
    MAX(CASE WHEN band = 'middle' THEN yield_fraction END) AS yield_fraction,
    -- Number of good dice per wafer.
    MAX(CASE WHEN band = 'middle' THEN good_dice END) AS good_dice_per_wafer,
    -- Cost of the part's good dice. [USD]
    MAX(CASE WHEN band = 'middle' THEN die_usd END) AS die_usd,
    -- Cost of the package, and of good dice lost in failed packages. [USD]
    MAX(CASE WHEN band = 'middle' THEN packaged_usd END) AS package_usd,
    -- Cost of the main memory on the board; 0 if the memory consists of modules of a host. [USD]
    MAX(CASE WHEN band = 'middle' THEN memory_usd END) AS memory_usd,
    -- Cost of board, regulators and cooling. [USD]
    MAX(CASE WHEN band = 'middle' THEN board_usd END) AS board_usd,
    -- Cost of the whole part; null if a rule is missing or the die fits no wafer. [USD]
    MAX(CASE WHEN band = 'middle' THEN part_usd END) AS part_usd,
    -- Cost with every rule at its cheap end. [USD]
    MAX(CASE WHEN band = 'cheap' THEN part_usd END) AS low_usd,
    -- Cost with every rule at its dear end. [USD]
    MAX(CASE WHEN band = 'dear' THEN part_usd END) AS high_usd,
    -- Implausible and impossible cost rules (`implausible_number`, `impossible_number`), the same list for all parts; an impossible
    -- rule is replaced by a neighbouring rule or left out; else null.
    MAX(f.implausible) AS implausible
FROM summed_parts
CROSS JOIN named_faults AS f
GROUP BY hardware
