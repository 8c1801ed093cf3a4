-- Weights and transfers of a run, divided into the equal layers and the operators before and after the layers: bytes of weights,
-- bytes of the collectives of tensor and expert parallelism, and bytes passed from layer to layer. Values are sums over all layers
-- of the whole run on one device.
-- Grain: run
CREATE TABLE layered_run AS
WITH kernel_sums AS (
    SELECT
        run,
        COUNT(DISTINCT CASE WHEN NOT is_backward THEN block END) AS block_count,
        SUM(CASE WHEN NOT is_backward AND place = 'first' THEN weight_byte ELSE 0e0 END) AS first_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'last' THEN weight_byte ELSE 0e0 END) AS last_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' THEN weight_byte ELSE 0e0 END) AS block_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place <> 'block' AND is_split THEN weight_byte ELSE 0e0 END) AS end_split_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' AND is_split THEN weight_byte ELSE 0e0 END) AS block_split_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' AND is_expert AND split IN ('column', 'row') THEN weight_byte ELSE 0e0 END)
            AS expert_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'first' THEN trained_weight_byte ELSE 0e0 END) AS first_trained_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'last' THEN trained_weight_byte ELSE 0e0 END) AS last_trained_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' THEN trained_weight_byte ELSE 0e0 END) AS block_trained_byte,
        SUM(CASE WHEN NOT is_backward AND place <> 'block' AND is_split THEN trained_weight_byte ELSE 0e0 END) AS end_split_trained_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' AND is_split THEN trained_weight_byte ELSE 0e0 END) AS block_split_trained_byte,
        SUM(
            CASE
                WHEN NOT is_backward AND place = 'block' AND is_expert AND split IN ('column', 'row') THEN trained_weight_byte
                ELSE 0e0
            END
        ) AS expert_trained_byte,
        SUM(CASE WHEN place = 'block' AND NOT is_backward THEN all_reduce_byte ELSE 0e0 END) AS forward_reduce_byte,
        SUM(CASE WHEN place = 'block' AND is_backward THEN all_reduce_byte ELSE 0e0 END) AS backward_reduce_byte,
        SUM(CASE WHEN place = 'block' AND NOT is_backward AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS forward_reduce_count,
        SUM(CASE WHEN place = 'block' AND is_backward AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS backward_reduce_count,
        SUM(CASE WHEN place <> 'block' THEN all_reduce_byte ELSE 0e0 END) AS end_reduce_byte,
        SUM(CASE WHEN place <> 'block' AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS end_reduce_count,
        SUM(CASE WHEN place = 'block' THEN all_gather_byte ELSE 0e0 END) AS block_gather_byte,
        SUM(CASE WHEN place = 'block' AND all_gather_byte > 0e0 THEN 1 ELSE 0 END) AS block_gather_count,
        SUM(CASE WHEN place <> 'block' THEN all_gather_byte ELSE 0e0 END) AS end_gather_byte,
        SUM(CASE WHEN place <> 'block' AND all_gather_byte > 0e0 THEN 1 ELSE 0 END) AS end_gather_count,
        SUM(CASE WHEN NOT is_backward THEN all_to_all_byte ELSE 0e0 END) AS forward_exchange_byte,
        SUM(CASE WHEN is_backward THEN all_to_all_byte ELSE 0e0 END) AS backward_exchange_byte,
        SUM(CASE WHEN NOT is_backward AND all_to_all_byte > 0e0 THEN 1 ELSE 0 END) AS forward_exchange_count,
        MAX(CASE WHEN place = 'block' AND NOT is_backward AND NOT is_expert THEN all_reduce_byte ELSE 0e0 END) AS hidden_byte,
        MAX(expert_count) AS expert_count
    FROM split_kernel
    GROUP BY run
)

SELECT
    s.run,
    -- Number of equal layers.
    CAST(s.block_count AS BIGINT) AS block_count,
    -- Size of the weights before the layers. [byte]
    s.first_weight_byte,
    -- Size of the weights after the layers. [byte]
    s.last_weight_byte,
    -- Size of the weights of the layers. [byte]
    s.block_weight_byte,
    -- Size of the tied weights, which operators before and after the layers share, counted once. [byte]
    GREATEST(0e0, s.first_weight_byte + s.last_weight_byte + s.block_weight_byte - w.weight_byte) AS tied_weight_byte,
    -- Part of the weights outside of layers that tensor parallelism splits. [byte]
    s.end_split_weight_byte,
    -- Part of the layers' weights that tensor parallelism splits. [byte]
    s.block_split_weight_byte,
    -- Part of the layers' weights that belongs to experts. [byte]
    s.expert_weight_byte,
    -- Part of `first_weight_byte` that a training step updates. [byte]
    s.first_trained_byte,
    -- Part of `last_weight_byte` that a training step updates. [byte]
    s.last_trained_byte,
    -- Part of `block_weight_byte` that a training step updates. [byte]
    s.block_trained_byte,
    -- Part of `tied_weight_byte` that a training step updates. [byte]
    GREATEST(0e0, s.first_trained_byte + s.last_trained_byte + s.block_trained_byte - w.trained_weight_byte) AS tied_trained_byte,
    -- Part of `end_split_weight_byte` that a training step updates. [byte]
    s.end_split_trained_byte,
    -- Part of `block_split_weight_byte` that a training step updates. [byte]
    s.block_split_trained_byte,
    -- Part of `expert_weight_byte` that a training step updates. [byte]
    s.expert_trained_byte,
    -- Bytes that all-reduces combine in the layers' forward pass. [byte]
    s.forward_reduce_byte,
    -- Bytes that all-reduces combine in the layers' backward pass. [byte]
    s.backward_reduce_byte,
    -- Number of all-reduces in the layers' forward pass.
    CAST(s.forward_reduce_count AS BIGINT) AS forward_reduce_count,
    -- Number of all-reduces in the layers' backward pass.
    CAST(s.backward_reduce_count AS BIGINT) AS backward_reduce_count,
    -- Bytes that all-reduces combine outside of layers. [byte]
    s.end_reduce_byte,
    -- Number of all-reduces outside of layers.
    CAST(s.end_reduce_count AS BIGINT) AS end_reduce_count,
    -- Bytes that all-gathers collect in the layers. [byte]
    s.block_gather_byte,
    -- Number of all-gathers in the layers.
    CAST(s.block_gather_count AS BIGINT) AS block_gather_count,
    -- Bytes that all-gathers collect outside of layers. [byte]
    s.end_gather_byte,
    -- Number of all-gathers outside of layers.
    CAST(s.end_gather_count AS BIGINT) AS end_gather_count,
    -- Bytes of the all-to-alls of expert parallelism in the forward pass. [byte]
    s.forward_exchange_byte,
    -- Bytes of the all-to-alls of expert parallelism in the backward pass. [byte]
    s.backward_exchange_byte,
    -- Number of all-to-alls of expert parallelism in the forward pass.
    CAST(s.forward_exchange_count AS BIGINT) AS forward_exchange_count,
    -- Bytes that one layer passes to the next. [byte]
    s.hidden_byte,
    -- Number of experts per layer; null without experts.
    s.expert_count
FROM kernel_sums AS s
INNER JOIN resident_byte AS w ON w.run = s.run
