-- Shares of one device of a split in the weights and work that tensor parallelism splits. Heads and experts stay whole.
-- Grain: run, split
CREATE VIEW split_piece AS
WITH piece_sums AS (
    SELECT
        p.run,
        d.split,
        p.place,
        p.is_core,
        p.weight_byte,
        p.macs,
        split_share(p.pieces, p.fewer_pieces, p.fewer_fraction, d.tensor) AS device_share,
        device_share(p.fewer_pieces, d.tensor) AS cache_share
    FROM layered_piece AS p
    CROSS JOIN device_split AS d
)

SELECT
    run,
    split,
    -- Share of the layers' split weights on one device.
    SUM(CASE WHEN place = 'block' THEN device_share * weight_byte END)
    / NULLIF(SUM(CASE WHEN place = 'block' THEN weight_byte END), 0e0) AS block_share,
    -- Share of the split weights before and after the layers on one device.
    SUM(CASE WHEN place = 'end' THEN device_share * weight_byte END)
    / NULLIF(SUM(CASE WHEN place = 'end' THEN weight_byte END), 0e0) AS end_share,
    -- Share of the layers' split work on one device.
    SUM(CASE WHEN place = 'block' THEN device_share * macs END) / NULLIF(SUM(CASE WHEN place = 'block' THEN macs END), 0e0)
        AS work_share,
    -- Share of the attention cores on one device: whole query heads.
    SUM(CASE WHEN is_core THEN device_share * macs END) / NULLIF(SUM(CASE WHEN is_core THEN macs END), 0e0) AS core_share,
    -- Share of the layers' keys and values on one device: whole key-value heads.
    SUM(CASE WHEN is_core THEN cache_share * macs END) / NULLIF(SUM(CASE WHEN is_core THEN macs END), 0e0) AS cache_share
FROM piece_sums
GROUP BY run, split
