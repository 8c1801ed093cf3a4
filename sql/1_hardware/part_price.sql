-- Hourly price of every part: the rental price, or the list price divided by the hours of use if nobody rents out the part. An
-- impossible price (`part_fault`) counts as missing.
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

purchases AS (
    SELECT
        p.hardware,
        p.list_price_usd,
        p.list_price_usd / NULLIF(c.value, 0e0) AS price_usd_per_hour,
        CASE
            WHEN c.value IS NOT NULL
                THEN CONCAT('list price of a ', p.sold_as, ' over ', FORMAT('{:g}', c.value), ' h, ', p.confidence, ', ', p.dated)
        END AS basis
    FROM list_price AS p
    LEFT JOIN library_constant AS c ON c.library_constant = 'owned_h' AND c.value > 0e0 AND c.value < 1e9
    LEFT JOIN impossible_prices AS f ON f.hardware = p.hardware AND f.kind = 'list_price'
    WHERE f.hardware IS NULL
)

SELECT
    h.hardware,
    -- Hourly price of the part: the rental price, or the list price divided by the hours of use if nobody rents out the part; null
    -- when unknown. [USD/h]
    COALESCE(r.price_usd_per_hour, o.price_usd_per_hour) AS price_usd_per_hour,
    -- Confidence in the price, month of the price, and the item that a list price buys; null without a price.
    COALESCE(r.basis, o.basis) AS price_basis,
    -- Kind of the price: `rent` (host and power included) or `purchase` (the part alone, divided by the hours of use); null without
    -- a price.
    CASE
        WHEN r.price_usd_per_hour IS NOT NULL THEN 'rent'
        WHEN o.price_usd_per_hour IS NOT NULL THEN 'purchase'
    END AS price_kind,
    -- List price of one part; null when unknown. [USD]
    o.list_price_usd
FROM hardware AS h
LEFT JOIN rents AS r ON r.hardware = h.hardware
LEFT JOIN purchases AS o ON o.hardware = h.hardware
