-- Numbers of a training run that a split over devices needs in addition to `layered_run`: the activations saved for the backward
-- pass, and the work. Values are sums over all layers.
-- Grain: run
CREATE TABLE trained_run AS
WITH work_sums AS (
    SELECT
        k.run,
        SUM(CASE WHEN NOT k.is_backward AND k.place = 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS block_macs,
        SUM(CASE WHEN NOT k.is_backward AND k.place <> 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS end_macs,
        SUM(CASE WHEN NOT k.is_backward AND k.is_core THEN k.kernel_count * h.macs ELSE 0e0 END) AS core_macs,
        SUM(CASE WHEN k.is_backward AND NOT k.is_repeated AND k.place = 'block' THEN k.kernel_count * h.macs ELSE 0e0 END)
            AS block_backward_macs,
        SUM(CASE WHEN k.is_backward AND NOT k.is_repeated AND k.place <> 'block' THEN k.kernel_count * h.macs ELSE 0e0 END)
            AS end_backward_macs,
        SUM(CASE WHEN k.is_repeated AND k.place = 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS block_repeated_macs,
        SUM(CASE WHEN k.is_repeated AND k.place <> 'block' THEN k.kernel_count * h.macs ELSE 0e0 END) AS end_repeated_macs
    FROM trained_kernel AS k
    INNER JOIN shape AS h ON h.run = k.run AND h.shape_id = k.shape_id GROUP BY k.run
)

SELECT
    s.run,
    -- Bytes of one trained weight. [byte]
    COALESCE(r.trained_weight_byte / NULLIF(r.trained_parameter_count, 0e0), r.weight_byte / NULLIF(m.parameter_count, 0))
        AS parameter_byte,
    -- True if some of the model's weights are not trained.
    r.trained_weight_byte < r.weight_byte AS is_frozen,
    COALESCE(a.split_saved_byte, 0e0) AS split_saved_byte,
    COALESCE(a.whole_saved_byte, 0e0) AS whole_saved_byte,
    COALESCE(a.core_saved_byte, 0e0) AS core_saved_byte,
    COALESCE(a.end_split_saved_byte, 0e0) AS end_split_saved_byte,
    COALESCE(a.end_whole_saved_byte, 0e0) AS end_whole_saved_byte,
    -- Memory at the peak of the activations in addition to the saved activations, mostly gradients of activations, whose features
    -- tensor parallelism shards over devices; smaller if some saved activations are already freed. [byte]
    COALESCE(p.split_peak_byte, 0e0) - COALESCE(a.split_saved_byte + a.end_split_saved_byte, 0e0) AS split_moment_byte,
    -- Memory at the same peak in addition to the saved activations, as far as every device keeps it whole. [byte]
    COALESCE(p.whole_peak_byte, 0e0) - COALESCE(a.whole_saved_byte + a.end_whole_saved_byte, 0e0) AS whole_moment_byte,
    y.buffer_byte,
    -- Ratio of the allocator's rounding plus the backend's scratch memory to the activations.
    COALESCE((y.rounding_byte + y.workspace_byte) / NULLIF(y.activation_byte, 0e0), 0e0) AS scratch_factor,
    -- Size of the keys and values of all layers. [byte]
    COALESCE(NULLIF(v.kv_byte, 0e0), 2e0 * s.hidden_byte * s.block_count) AS kv_byte,
    -- Number of multiply-accumulates of the layers' forward pass.
    COALESCE(k.block_macs, 0e0) AS block_macs,
    -- Number of multiply-accumulates of the forward pass outside of layers.
    COALESCE(k.end_macs, 0e0) AS end_macs,
    -- Number of multiply-accumulates that selective recomputation executes again.
    COALESCE(k.core_macs, 0e0) AS core_macs,
    -- Number of multiply-accumulates of the layers' backward pass.
    COALESCE(k.block_backward_macs, 0e0) AS block_backward_macs,
    -- Number of multiply-accumulates of the backward pass outside of layers.
    COALESCE(k.end_backward_macs, 0e0) AS end_backward_macs,
    -- Number of multiply-accumulates in the layers that checkpointing in the model's code executes again.
    COALESCE(k.block_repeated_macs, 0e0) AS block_repeated_macs,
    -- Number of multiply-accumulates outside of layers that checkpointing in the model's code executes again.
    COALESCE(k.end_repeated_macs, 0e0) AS end_repeated_macs,
    COALESCE(d.adapter_width, 0e0) AS adapter_width
FROM layered_run AS s
INNER JOIN model AS m ON m.model = s.run.model AND m.is_training
INNER JOIN resident_byte AS r ON r.run = s.run
INNER JOIN run_memory AS y ON y.run = s.run
LEFT JOIN peak_byte AS p ON p.run = s.run
LEFT JOIN saved_byte AS a ON a.run = s.run
LEFT JOIN work_sums AS k ON k.run = s.run
LEFT JOIN adapter_weight AS d ON d.run = s.run
LEFT JOIN key_value_byte AS v ON v.run = s.run
