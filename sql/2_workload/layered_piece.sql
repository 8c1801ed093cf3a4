-- Weights and work of a run's forward pass that tensor parallelism splits, grouped by number of heads, because a device's share
-- depends on this number.
-- Grain: run, place, is_core, pieces, fewer_pieces, fewer_fraction
CREATE TABLE layered_piece AS
WITH split_kernels AS (
    SELECT
        s.run,
        k.shape_id,
        CASE WHEN s.place = 'block' THEN 'block' ELSE 'end' END AS group_place,
        s.split = 'between' AS is_between,
        COALESCE(s.pieces, 0) AS all_pieces,
        COALESCE(s.fewer_pieces, s.pieces, 0) AS all_fewer_pieces,
        s.fewer_fraction,
        SUM(CASE WHEN s.is_expert AND s.split IN ('column', 'row') THEN 0e0 ELSE s.weight_byte END) AS weight_byte,
        COUNT(*) AS kernel_count
    FROM split_kernel AS s
    INNER JOIN run_kernel AS k ON k.run = s.run AND k.kernel_id = s.kernel_id
    WHERE s.is_split AND NOT s.is_backward
    GROUP BY s.run, k.shape_id, group_place, is_between, all_pieces, all_fewer_pieces, s.fewer_fraction
),

shaped_kernels AS (
    SELECT
        k.run,
        k.group_place AS place,
        h.kernel_class = 'attention' OR (h.kernel_class = 'matmul' AND k.is_between) AS is_core,
        k.all_pieces AS pieces,
        k.all_fewer_pieces AS fewer_pieces,
        k.fewer_fraction,
        k.weight_byte,
        k.kernel_count * h.macs AS macs
    FROM split_kernels AS k
    INNER JOIN run_shape AS h ON h.run = k.run AND h.shape_id = k.shape_id
)

SELECT
    run,
    -- Position in the model: `block` for the layers, `end` for the operators outside of the layers.
    place,
    -- True for an attention core (scores, softmax and weighted values).
    is_core,
    -- Number of heads that the group's features belong to; 0 without heads.
    pieces,
    -- Number of key-value heads; 0 without heads.
    fewer_pieces,
    fewer_fraction,
    -- Size of the group's weights, experts excluded. [byte]
    SUM(weight_byte) AS weight_byte,
    -- Number of multiply-accumulates of the group.
    SUM(macs) AS macs
FROM shaped_kernels
GROUP BY run, place, is_core, pieces, fewer_pieces, fewer_fraction
