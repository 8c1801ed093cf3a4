-- Hourly price of every part on one basis, the part at work with its host and power: the rental price, or the cost of owning the part
-- if nobody rents it out. Owning costs the list price and a host, divided by the hours of work in a life, and electricity (capital
-- and operating cost as in Barroso, Hölzle and Ranganathan, The Datacenter as a Computer, 3rd edition 2018, chapter 6); its
-- coefficients are assumed (`library_constant`). Modules, kits and computers need no host. An impossible price (`part_fault`)
-- counts as missing.
-- Grain: hardware
CREATE VIEW part_price AS
WITH impossible_prices AS (
    SELECT hardware, kind
    FROM part_fault
    WHERE kind IN ('price', 'list_price') AND NOT is_possible
),

rents AS (
    SELECT p.hardware, p.price_usd_per_hour, CONCAT(p.confidence, ', ', p.dated) AS basis
    FROM price AS p
    LEFT JOIN impossible_prices AS f ON f.hardware = p.hardware AND f.kind = 'price'
    WHERE f.hardware IS NULL
),

-- A missing or impossible constant leaves owned parts without a price.
constants AS (
    SELECT
        MAX(CASE WHEN library_constant = 'owned_h' AND value > 0e0 AND value < 1e9 THEN value END) AS life_h,
        MAX(CASE WHEN library_constant = 'owned_use_fraction' AND value > 0e0 AND value <= 1e0 THEN value END) AS use_fraction,
        MAX(CASE WHEN library_constant = 'host_usd' AND value >= 0e0 AND value < 1e9 THEN value END) AS host_usd,
        MAX(CASE WHEN library_constant = 'power_factor' AND value > 0e0 AND value < 1e9 THEN value END) AS power_factor,
        MAX(CASE WHEN library_constant = 'electricity_usd_per_kwh' AND value >= 0e0 AND value < 1e9 THEN value END) AS electricity_usd
    FROM library_constant
),

-- A part without a known power limit has no cost of electricity, which its basis tells.
purchases AS (
    SELECT
        p.hardware,
        p.list_price_usd,
        c.life_h,
        c.use_fraction,
        p.sold_as IN ('card', 'processor') AS has_host,
        w.tdp_w IS NOT NULL AS has_power,
        (p.list_price_usd + CASE WHEN has_host THEN c.host_usd ELSE 0e0 END) / NULLIF(c.life_h * c.use_fraction, 0e0)
        + CASE WHEN has_power THEN w.tdp_w / 1e3 * c.power_factor * c.electricity_usd ELSE 0e0 END AS price_usd_per_hour,
        CONCAT('owned: list price of a ', p.sold_as, ', ', p.confidence, ', ', p.dated) AS item
    FROM list_price AS p
    CROSS JOIN constants AS c
    LEFT JOIN hardware_power AS w ON w.hardware = p.hardware AND w.is_default
    LEFT JOIN impossible_prices AS f ON f.hardware = p.hardware AND f.kind = 'list_price'
    WHERE f.hardware IS NULL
),

told_purchases AS (
    SELECT
        *,
        CASE
            WHEN price_usd_per_hour IS NOT NULL
                THEN CONCAT(
                    item, '; ', CASE WHEN has_host THEN 'host, ' ELSE '' END,
                    CASE WHEN has_power THEN 'power' ELSE 'without power' END, ', ', FORMAT('{:g}', 1e2 * use_fraction), ' % of ',
                    FORMAT('{:g}', life_h), ' h, assumed'
                )
        END AS basis
    FROM purchases
)

SELECT
    h.hardware,
    -- Hourly price of the part at work, host and power included: the rental price, or the cost of owning the part if nobody rents it
    -- out; null when unknown. [USD/h]
    COALESCE(r.price_usd_per_hour, o.price_usd_per_hour) AS price_usd_per_hour,
    -- Confidence in the price, month of the price, and what the cost of owning contains; null without a price.
    COALESCE(r.basis, o.basis) AS price_basis,
    -- Kind of the price: `rent`, or `owned` if derived from a list price, with a host, power and hours of use that are assumed; null
    -- without a price.
    CASE
        WHEN r.price_usd_per_hour IS NOT NULL THEN 'rent'
        WHEN o.price_usd_per_hour IS NOT NULL THEN 'owned'
    END AS price_kind,
    -- List price of one part; null when unknown. [USD]
    o.list_price_usd
FROM hardware AS h
LEFT JOIN rents AS r ON r.hardware = h.hardware
LEFT JOIN told_purchases AS o ON o.hardware = h.hardware
