-- Numbers of rules of training over devices that cannot be or are not plausible (`number_rule`). Nothing at hand rests on
-- them: steps of training that do are null (`training_step`).
-- Grain: kind, row_key, quantity
CREATE VIEW training_fault AS
WITH listed_numbers AS (
    SELECT
        'network' AS kind,
        of_part AS row_key,
        UNNEST(['network_byte_per_s', 'network_s', 'node_device_count', 'network_fraction']) AS quantity,
        UNNEST([network_byte_per_s, network_s, CAST(node_device_count AS DOUBLE), network_fraction]) AS value
    FROM network
    UNION ALL
    SELECT
        'optimizer' AS kind,
        optimizer AS row_key,
        UNNEST(['gradient_byte', 'master_byte', 'state_byte', 'moved_byte', 'bandwidth_fraction']) AS quantity,
        UNNEST([gradient_byte, master_byte, state_byte, moved_byte, bandwidth_fraction]) AS value
    FROM optimizer
    UNION ALL
    SELECT
        'framework' AS kind,
        framework AS row_key,
        UNNEST(['kernel_factor', 'overlap_fraction', 'tensor_fraction', 'reduce_byte']) AS quantity,
        UNNEST([kernel_factor, overlap_fraction, tensor_fraction, reduce_byte]) AS value
    FROM framework
    UNION ALL
    SELECT
        'device_split' AS kind,
        split AS row_key,
        UNNEST(['tensor', 'pipeline', 'interleave', 'context', 'data', 'expert', 'micro_batches', 'zero_stage']) AS quantity,
        UNNEST([tensor, pipeline, interleave, context, data, expert, micro_batches, zero_stage]) AS value
    FROM device_split
    UNION ALL
    SELECT 'device_split' AS kind, split AS row_key, 'block_count' AS quantity, block_count AS value
    FROM device_split
    WHERE block_count IS NOT NULL
    UNION ALL
    SELECT 'device_split' AS kind, split AS row_key, 'adapter_rank' AS quantity, adapter_rank AS value
    FROM device_split
    WHERE adapter_rank IS NOT NULL
)

SELECT
    -- Table of the rule.
    n.kind,
    -- Key of its row.
    n.row_key,
    -- Column of the number.
    n.quantity,
    -- Place of the number: all three, joined by a point.
    CONCAT(n.kind, '.', n.row_key, '.', n.quantity) AS field,
    -- What stands there, in the unit of the column; null where nothing does.
    n.value,
    -- What may stand there, or usually does.
    fault_reason(COALESCE(n.value, r.least), r.least, r.most, r.plausible_least, r.plausible_most) AS rule,
    -- True of a number that may be, though it hardly is.
    COALESCE(n.value >= r.least AND n.value <= r.most, FALSE) AS is_possible
FROM listed_numbers AS n
INNER JOIN number_rule AS r ON r.kind = n.kind AND r.quantity = n.quantity AND r.row_kind = '*'
WHERE COALESCE(
    NOT (n.value >= r.least AND n.value <= r.most AND n.value >= r.plausible_least AND n.value <= r.plausible_most), TRUE
)
