-- Numbers of the rules about parts, one number per row.
-- Grain: kind, row_key, quantity
CREATE VIEW rule_number AS
WITH listed_numbers AS (
    SELECT
        'architectural_modifier' AS kind,
        CONCAT(operator_class, '.', architecture_class, '.', is_fused) AS row_key,
        '*' AS row_kind,
        '*' AS family,
        'modifier' AS quantity,
        modifier AS value
    FROM architectural_modifier
    UNION ALL
    SELECT
        'backend_support' AS kind,
        CONCAT(backend, '.', family, '.', vendor) AS row_key,
        -- Dispatch `graph` decides the work of the host under any backend.
        CASE WHEN dispatch = 'graph' THEN dispatch ELSE backend END AS row_kind,
        family,
        UNNEST(['host_kernel_s', 'host_view_s', 'run_s', 'kernel_gap_fraction', 'chunk_element', 'efficient_core_ratio']) AS quantity,
        UNNEST([host_kernel_s, host_view_s, run_s, kernel_gap_fraction, chunk_element, efficient_core_ratio]) AS value
    FROM backend_support
    UNION ALL
    SELECT
        'collective' AS kind,
        interconnect AS row_key,
        '*' AS row_kind,
        '*' AS family,
        UNNEST(['call_fraction', 'step_fraction', 'bandwidth_fraction', 'direct_call_fraction', 'direct_bandwidth_fraction']) AS quantity,
        UNNEST([call_fraction, step_fraction, bandwidth_fraction, direct_call_fraction, direct_bandwidth_fraction]) AS value
    FROM collective
    UNION ALL
    SELECT
        'cuda_limit' AS kind,
        compute_capability AS row_key,
        '*' AS row_kind,
        '*' AS family,
        UNNEST([
            'threads_per_sm', 'blocks_per_sm', 'warps_per_sm', 'registers_per_sm', 'shared_memory_per_sm_byte',
            'shared_memory_per_block_byte'
        ]) AS quantity,
        UNNEST([
            threads_per_sm, blocks_per_sm, warps_per_sm, registers_per_sm, shared_memory_per_sm_byte,
            shared_memory_per_block_byte
        ]) AS value
    FROM cuda_limit
    UNION ALL
    SELECT
        'device_context' AS kind,
        CONCAT(backend, '.', family, '.', vendor) AS row_key,
        '*' AS row_kind,
        family,
        UNNEST(['context_byte', 'thread_byte']) AS quantity,
        UNNEST([context_byte, thread_byte]) AS value
    FROM device_context
    UNION ALL
    SELECT
        'derivation_rule' AS kind,
        derivation_rule AS row_key,
        quantity AS row_kind,
        family,
        'value' AS quantity,
        value
    FROM derivation_rule
    UNION ALL
    SELECT
        'efficiency' AS kind,
        CAST(efficiency_id AS VARCHAR) AS row_key,
        CONCAT(resource, '.', backend) AS row_kind,
        CASE WHEN STARTS_WITH(scope, 'family:') THEN SPLIT_PART(scope, ':', 2) ELSE '*' END AS family,
        UNNEST(['maximum_fraction', 'half_work']) AS quantity,
        UNNEST([maximum_fraction, half_work]) AS value
    FROM efficiency
    UNION ALL
    SELECT
        'silicon_rule' AS kind,
        silicon_rule AS row_key,
        quantity AS row_kind,
        family,
        'value' AS quantity,
        value
    FROM silicon_rule
    UNION ALL
    SELECT
        'library_constant' AS kind,
        library_constant AS row_key,
        library_constant AS row_kind,
        '*' AS family,
        'value' AS quantity,
        value
    FROM library_constant
    WHERE decides = 'unit'
    UNION ALL
    SELECT
        'precision' AS kind,
        precision AS row_key,
        '*' AS row_kind,
        '*' AS family,
        'fallback_operations' AS quantity,
        fallback_operations AS value
    FROM precision
    UNION ALL
    SELECT 'family' AS kind, family AS row_key, '*' AS row_kind, family, 'accumulator_rows' AS quantity, accumulator_rows AS value
    FROM hardware_family
    UNION ALL
    SELECT 'memory_level' AS kind, level AS row_key, level AS row_kind, '*' AS family, 'depth' AS quantity, depth AS value
    FROM memory_level
    UNION ALL
    SELECT
        'prediction_band' AS kind,
        CONCAT(scope, '.', backend, '.', batch_class, '.', quantity) AS row_key,
        '*' AS row_kind,
        '*' AS family,
        UNNEST(['low_factor', 'high_factor', 'row_count']) AS quantity,
        UNNEST([low_factor, high_factor, row_count]) AS value
    FROM prediction_band
    UNION ALL
    SELECT
        'tiling_strategy' AS kind,
        CONCAT(family, '.', candidate) AS row_key,
        strategy AS row_kind,
        family,
        UNNEST([
            'tile_m', 'tile_n', 'tile_k', 'from_m', 'below_m', 'divisor', 'split_k', 'stages', 'step_k', 'fill_k',
            'fill_clock', 'exposed_fill', 'latency_clock', 'wave_quantization_fraction', 'efficiency_fraction', 'fed_macs'
        ]) AS quantity,
        UNNEST([
            tile_m, tile_n, tile_k, from_m, below_m, divisor, split_k, stages, step_k, fill_k, fill_clock, exposed_fill,
            latency_clock, wave_quantization_fraction, efficiency_fraction, fed_macs
        ]) AS value
    FROM tiling_strategy
)

SELECT
    -- Table that contains the rule.
    kind,
    -- Key of the rule's row: its columns, joined by points; for an efficiency, the row's number.
    row_key,
    -- Kind of the row, by which `number_rule` selects bounds.
    row_kind,
    -- Family of the parts that the row applies to, or `*`.
    family,
    -- Column that contains the number.
    quantity,
    -- Value in the unit of the column; null if the row leaves the number open.
    value
FROM listed_numbers
