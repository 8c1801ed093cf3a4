-- Prices of every part that has one, rent and purchase in two columns. Key: hardware, of `mart.parts`.
-- Grain: hardware
CREATE VIEW prices AS
SELECT
    h.hardware,
    -- Rent of the part, host and power included; null when unknown. [USD/h]
    r.price_usd_per_hour AS rent_usd_per_hour,
    -- Month of the rent.
    r.dated AS rent_dated,
    -- Confidence in the rent.
    r.confidence AS rent_confidence,
    -- Source of the rent, of `mart.sources`.
    r.source_id AS rent_source_id,
    -- List price of the part alone; null when unknown. [USD]
    o.list_price_usd AS purchase_usd,
    -- Item that the list price buys.
    o.sold_as,
    -- Month of the list price.
    o.dated AS purchase_dated,
    -- Confidence in the list price.
    o.confidence AS purchase_confidence,
    -- Source of the list price, of `mart.sources`.
    o.source_id AS purchase_source_id,
    p.price_usd_per_hour,
    p.price_kind,
    p.price_basis
FROM hardware AS h
INNER JOIN part_price AS p ON p.hardware = h.hardware
LEFT JOIN price AS r ON r.hardware = h.hardware
LEFT JOIN list_price AS o ON o.hardware = h.hardware
WHERE r.hardware IS NOT NULL OR o.hardware IS NOT NULL
