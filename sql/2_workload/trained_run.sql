-- What a split of a training run over devices rests on: its layers, the weights before, in and behind them, what the backward pass
-- needs of the forward pass, and what collectives of tensor and expert parallel move. Sums of all layers.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE TABLE trained_run AS
WITH kernel_sums AS (
    SELECT
        model,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        COUNT(DISTINCT CASE WHEN NOT is_backward THEN block END) AS block_count,
        SUM(CASE WHEN NOT is_backward AND place = 'first' THEN weight_byte ELSE 0e0 END) AS first_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'last' THEN weight_byte ELSE 0e0 END) AS last_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' THEN weight_byte ELSE 0e0 END) AS block_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place <> 'block' AND is_split THEN weight_byte ELSE 0e0 END) AS end_split_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' AND is_split THEN weight_byte ELSE 0e0 END) AS block_split_weight_byte,
        SUM(CASE WHEN NOT is_backward AND place = 'block' AND is_expert THEN weight_byte ELSE 0e0 END) AS expert_weight_byte,
        SUM(CASE WHEN place = 'block' AND NOT is_backward THEN all_reduce_byte ELSE 0e0 END) AS forward_reduce_byte,
        SUM(CASE WHEN place = 'block' AND is_backward THEN all_reduce_byte ELSE 0e0 END) AS backward_reduce_byte,
        SUM(CASE WHEN place = 'block' AND NOT is_backward AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS forward_reduce_count,
        SUM(CASE WHEN place = 'block' AND is_backward AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS backward_reduce_count,
        SUM(CASE WHEN place <> 'block' THEN all_reduce_byte ELSE 0e0 END) AS end_reduce_byte,
        SUM(CASE WHEN place <> 'block' AND all_reduce_byte > 0e0 THEN 1 ELSE 0 END) AS end_reduce_count,
        SUM(CASE WHEN NOT is_backward THEN all_to_all_byte ELSE 0e0 END) AS forward_exchange_byte,
        SUM(CASE WHEN is_backward THEN all_to_all_byte ELSE 0e0 END) AS backward_exchange_byte,
        SUM(CASE WHEN NOT is_backward AND all_to_all_byte > 0e0 THEN 1 ELSE 0 END) AS forward_exchange_count,
        MAX(CASE WHEN place = 'block' AND NOT is_backward AND NOT is_expert THEN all_reduce_byte ELSE 0e0 END) AS hidden_byte
    FROM split_kernel
    GROUP BY model, backend, precision, batch, sequence, scenario_id
),

work_sums AS (
    SELECT
        k.model,
        k.scenario_id,
        SUM(CASE WHEN k.place = 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS block_macs,
        SUM(CASE WHEN k.place <> 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS end_macs,
        SUM(CASE WHEN k.is_core THEN k.kernel_count * h.macs ELSE 0e0 END) AS core_macs
    FROM trained_kernel AS k
    INNER JOIN shape AS h
        ON h.model = k.model AND h.backend = k.backend AND h.precision = k.precision AND h.batch = k.batch
        AND h.sequence = k.sequence AND h.scenario_id = k.scenario_id AND h.shape_id = k.shape_id
    WHERE NOT k.is_backward
    GROUP BY k.model, k.scenario_id
)

SELECT
    s.model,
    s.backend,
    s.precision,
    s.batch,
    s.sequence,
    s.scenario_id,
    -- Equal layers.
    CAST(s.block_count AS BIGINT) AS block_count,
    -- Bytes of a weight. [byte]
    w.weight_byte / NULLIF(m.parameter_count, 0) AS parameter_byte,
    -- Weights before the layers. [byte]
    s.first_weight_byte,
    -- Weights behind the layers. [byte]
    s.last_weight_byte,
    -- Weights of the layers. [byte]
    s.block_weight_byte,
    -- Weights that stand before the layers and behind them, once. [byte]
    GREATEST(0e0, s.first_weight_byte + s.last_weight_byte + s.block_weight_byte - w.weight_byte) AS tied_weight_byte,
    -- Part of the weights outside of layers that tensor parallel splits. [byte]
    s.end_split_weight_byte,
    -- Part of the weights of layers that tensor parallel splits. [byte]
    s.block_split_weight_byte,
    -- Part of the weights of layers that experts hold. [byte]
    s.expert_weight_byte,
    -- Bytes that all-reduces of the layers' forward pass add up. [byte]
    s.forward_reduce_byte,
    -- Those of the backward pass. [byte]
    s.backward_reduce_byte,
    -- All-reduces of the layers' forward pass.
    CAST(s.forward_reduce_count AS BIGINT) AS forward_reduce_count,
    -- Those of the backward pass.
    CAST(s.backward_reduce_count AS BIGINT) AS backward_reduce_count,
    -- Bytes of those outside of layers. [byte]
    s.end_reduce_byte,
    -- All-reduces outside of layers.
    CAST(s.end_reduce_count AS BIGINT) AS end_reduce_count,
    -- Bytes to and from experts in the forward pass. [byte]
    s.forward_exchange_byte,
    -- Those in the backward pass. [byte]
    s.backward_exchange_byte,
    -- Exchanges with experts in the forward pass.
    CAST(s.forward_exchange_count AS BIGINT) AS forward_exchange_count,
    -- What one layer hands to the next. [byte]
    s.hidden_byte,
    COALESCE(a.split_saved_byte, 0e0) AS split_saved_byte,
    COALESCE(a.whole_saved_byte, 0e0) AS whole_saved_byte,
    COALESCE(a.core_saved_byte, 0e0) AS core_saved_byte,
    COALESCE(a.end_split_saved_byte, 0e0) AS end_split_saved_byte,
    COALESCE(a.end_whole_saved_byte, 0e0) AS end_whole_saved_byte,
    -- Keys and values of all layers. [byte]
    COALESCE(NULLIF(v.kv_byte, 0e0), 2e0 * s.hidden_byte * s.block_count) AS kv_byte,
    -- Multiply-accumulates of the layers' forward pass.
    COALESCE(k.block_macs, 0e0) AS block_macs,
    -- Those outside of layers.
    COALESCE(k.end_macs, 0e0) AS end_macs,
    -- Those that selective recomputation repeats.
    COALESCE(k.core_macs, 0e0) AS core_macs,
    COALESCE(d.adapter_width, 0e0) AS adapter_width
FROM kernel_sums AS s
INNER JOIN model AS m ON m.model = s.model AND m.is_training
INNER JOIN run_memory AS w
    ON w.model = s.model AND w.backend = s.backend AND w.precision = s.precision AND w.batch = s.batch
    AND w.sequence = s.sequence AND w.scenario_id = s.scenario_id
LEFT JOIN saved_byte AS a ON a.model = s.model AND a.scenario_id = s.scenario_id
LEFT JOIN work_sums AS k ON k.model = s.model AND k.scenario_id = s.scenario_id
LEFT JOIN adapter_weight AS d ON d.model = s.model AND d.scenario_id = s.scenario_id
LEFT JOIN key_value_byte AS v ON v.model = s.model AND v.scenario_id = s.scenario_id
