-- Prices of parts; one that cannot be (`part_fault`) is none.
-- Grain: hardware
CREATE VIEW part_price AS
SELECT
    p.hardware,
    -- Rent of the part; null when it cannot be. [USD/h]
    CASE WHEN f.hardware IS NULL THEN p.price_usd_per_hour END AS price_usd_per_hour
FROM price AS p
LEFT JOIN part_fault AS f ON f.hardware = p.hardware AND f.kind = 'price' AND NOT f.is_possible
