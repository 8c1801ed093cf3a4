-- What tensor parallel splits of a run's forward pass, by the heads that it comes in: what a split has of it depends on them. 0 where
-- there are none.
-- Grain: run, place, is_core, pieces, fewer_pieces, fewer_fraction
CREATE TABLE layered_piece AS
WITH split_kernels AS (
    SELECT
        s.run,
        CASE WHEN s.place = 'block' THEN 'block' ELSE 'end' END AS place,
        h.kernel_class = 'attention' OR (h.kernel_class = 'matmul' AND s.split = 'between') AS is_core,
        COALESCE(s.pieces, 0) AS pieces,
        COALESCE(s.fewer_pieces, s.pieces, 0) AS fewer_pieces,
        s.fewer_fraction,
        CASE WHEN s.is_expert AND s.split IN ('column', 'row') THEN 0e0 ELSE s.weight_byte END AS weight_byte,
        h.macs
    FROM split_kernel AS s
    INNER JOIN run_kernel AS k ON k.run = s.run AND k.kernel_id = s.kernel_id
    INNER JOIN shape AS h ON h.run = k.run AND h.shape_id = k.shape_id
    WHERE s.is_split AND NOT s.is_backward
)

SELECT
    run,
    -- `block` of layers, `end` of what stands before and behind them.
    place,
    -- True of the cores of attentions.
    is_core,
    -- Heads of its features.
    pieces,
    -- Heads of its keys.
    fewer_pieces,
    fewer_fraction,
    -- Its weights, but for experts'. [byte]
    SUM(weight_byte) AS weight_byte,
    -- Its multiply-accumulates.
    SUM(macs) AS macs
FROM split_kernels
GROUP BY run, place, is_core, pieces, fewer_pieces, fewer_fraction
