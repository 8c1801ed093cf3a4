-- Weights and work of a run's forward pass that tensor parallelism splits, grouped by the number of heads, on which the share of a
-- device depends. Groups without heads have 0.
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
    -- `block` for the layers, `end` for the operators outside of them.
    place,
    -- True for the core of an attention.
    is_core,
    -- Number of heads of its features; 0 without heads.
    pieces,
    -- Number of heads of its keys; 0 without heads.
    fewer_pieces,
    fewer_fraction,
    -- Size of its weights, without those of experts. [byte]
    SUM(weight_byte) AS weight_byte,
    -- Multiply-accumulates of the group.
    SUM(macs) AS macs
FROM split_kernels
GROUP BY run, place, is_core, pieces, fewer_pieces, fewer_fraction
