-- What a split of a training run over devices rests on beside its layers (`layered_run`): what the backward pass needs of the forward
-- pass, and its work. Sums of all layers.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE TABLE trained_run AS
WITH work_sums AS (
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
    -- Bytes of a weight. [byte]
    r.weight_byte / NULLIF(m.parameter_count, 0) AS parameter_byte,
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
FROM layered_run AS s
INNER JOIN model AS m ON m.model = s.model AND m.is_training
INNER JOIN resident_byte AS r ON r.model = s.model AND r.scenario_id = s.scenario_id
LEFT JOIN saved_byte AS a ON a.model = s.model AND a.scenario_id = s.scenario_id
LEFT JOIN work_sums AS k ON k.model = s.model AND k.scenario_id = s.scenario_id
LEFT JOIN adapter_weight AS d ON d.model = s.model AND d.scenario_id = s.scenario_id
LEFT JOIN key_value_byte AS v ON v.model = s.model AND v.scenario_id = s.scenario_id
