-- Impossible or implausible numbers (`number_rule`) of rules that only reports use, for costs and for training on several devices.
-- Impossible numbers make costs and training steps null (`part_cost`, `training_step`), but no time or energy of one device.
-- Grain: kind, row_key, quantity
CREATE VIEW report_fault AS
WITH listed_numbers AS (
    SELECT
        'cost_rule' AS kind,
        cost_rule AS row_key,
        quantity AS row_kind,
        UNNEST(['value', 'cheap_value', 'dear_value']) AS quantity,
        UNNEST([value, cheap_value, dear_value]) AS value
    FROM cost_rule
    UNION ALL
    SELECT
        'network' AS kind,
        of_part AS row_key,
        '*' AS row_kind,
        UNNEST(['network_byte_per_s', 'network_s', 'node_device_count', 'network_fraction']) AS quantity,
        UNNEST([network_byte_per_s, network_s, CAST(node_device_count AS DOUBLE), network_fraction]) AS value
    FROM network
    UNION ALL
    SELECT
        'optimizer' AS kind,
        optimizer AS row_key,
        '*' AS row_kind,
        UNNEST(['gradient_byte', 'master_byte', 'state_byte', 'moved_byte', 'bandwidth_fraction']) AS quantity,
        UNNEST([gradient_byte, master_byte, state_byte, moved_byte, bandwidth_fraction]) AS value
    FROM optimizer
    UNION ALL
    SELECT
        'framework' AS kind,
        framework AS row_key,
        '*' AS row_kind,
        UNNEST(['kernel_factor', 'overlap_fraction', 'tensor_fraction', 'reduce_byte']) AS quantity,
        UNNEST([kernel_factor, overlap_fraction, tensor_fraction, reduce_byte]) AS value
    FROM framework
    UNION ALL
    SELECT 'framework' AS kind, framework AS row_key, '*' AS row_kind, 'attention_factor' AS quantity, attention_factor AS value
    FROM framework
    WHERE attention_factor IS NOT NULL
    UNION ALL
    SELECT
        'framework' AS kind,
        framework AS row_key,
        '*' AS row_kind,
        'warpgroup_attention_factor' AS quantity,
        warpgroup_attention_factor AS value
    FROM framework
    WHERE warpgroup_attention_factor IS NOT NULL
    UNION ALL
    SELECT
        'device_split' AS kind,
        split AS row_key,
        '*' AS row_kind,
        UNNEST(['tensor', 'pipeline', 'interleave', 'context', 'data', 'expert', 'micro_batches', 'zero_stage']) AS quantity,
        UNNEST([tensor, pipeline, interleave, context, data, expert, micro_batches, zero_stage]) AS value
    FROM device_split
    UNION ALL
    SELECT 'device_split' AS kind, split AS row_key, '*' AS row_kind, 'block_count' AS quantity, block_count AS value
    FROM device_split
    WHERE block_count IS NOT NULL
    UNION ALL
    SELECT 'device_split' AS kind, split AS row_key, '*' AS row_kind, 'adapter_rank' AS quantity, adapter_rank AS value
    FROM device_split
    WHERE adapter_rank IS NOT NULL
),

ruled_numbers AS (
    SELECT
        n.kind,
        n.row_key,
        n.quantity,
        n.value,
        MAX_BY(r.least, r.row_kind <> '*') AS least,
        MAX_BY(r.most, r.row_kind <> '*') AS most,
        MAX_BY(r.plausible_least, r.row_kind <> '*') AS plausible_least,
        MAX_BY(r.plausible_most, r.row_kind <> '*') AS plausible_most
    FROM listed_numbers AS n
    INNER JOIN number_rule AS r ON r.kind = n.kind AND r.quantity = n.quantity AND r.row_kind IN ('*', n.row_kind)
    GROUP BY n.kind, n.row_key, n.quantity, n.value
)

SELECT
    -- Table that contains the rule.
    kind,
    -- Key of the rule's row.
    row_key,
    -- Column that contains the number.
    quantity,
    -- Field name of the number: table, key and column, joined by points.
    CONCAT(kind, '.', row_key, '.', quantity) AS field,
    -- Current value, in the unit of the column or row; null where it is missing.
    value,
    -- Range of possible or expected values.
    fault_reason(COALESCE(value, least), least, most, plausible_least, plausible_most) AS rule,
    -- True for a possible but implausible number.
    COALESCE(value >= least AND value <= most, FALSE) AS is_possible
FROM ruled_numbers
WHERE COALESCE(
    NOT (value >= least AND value <= most AND value >= plausible_least AND value <= plausible_most), TRUE
)
