-- Impossible or implausible numbers (`number_rule`) of scenarios and of the rules about runs, shipped or written by users.
-- Grain: kind, row_key, quantity
CREATE VIEW condition_fault AS
WITH listed_numbers AS (
    SELECT
        'scenario' AS kind,
        CAST(scenario_id AS VARCHAR) AS row_key,
        '*' AS row_kind,
        UNNEST([
            'batch', 'sequence', 'context', 'device_count', 'weight_host_fraction', 'cache_host_fraction', 'input_host_fraction',
            'host_factor'
        ]) AS quantity,
        UNNEST([
            batch, sequence, context, device_count, weight_host_fraction, cache_host_fraction, input_host_fraction, host_factor
        ]) AS value
    FROM scenario
    UNION ALL
    SELECT 'expert_skew' AS kind, architecture_family AS row_key, '*' AS row_kind, 'skew' AS quantity, skew AS value FROM expert_skew
    UNION ALL
    SELECT 'precision' AS kind, precision AS row_key, '*' AS row_kind, 'bits' AS quantity, bits AS value FROM precision
    UNION ALL
    SELECT
        'backend' AS kind,
        backend AS row_key,
        backend AS row_kind,
        UNNEST(['workspace_fraction', 'reserve_fraction', 'activation_bits', 'vector_rows', 'causal_block']) AS quantity,
        UNNEST([workspace_fraction, reserve_fraction, activation_bits, vector_rows, causal_block]) AS value
    FROM backend
    UNION ALL
    SELECT 'backend' AS kind, backend AS row_key, backend AS row_kind, 'chunk_tokens' AS quantity, chunk_tokens AS value
    FROM backend
    WHERE serves
    UNION ALL
    SELECT
        'engine_version' AS kind,
        CONCAT(backend, '.', engine_version) AS row_key,
        '*' AS row_kind,
        UNNEST([
            'step_s', 'sample_s', 'kernel_s', 'kernel_sample_s', 'prompt_kernel_s', 'linear_vector_rows', 'paged_heads', 'paged_ratio',
            'convert_ops'
        ]) AS quantity,
        UNNEST([
            step_s, sample_s, kernel_s, kernel_sample_s, prompt_kernel_s, linear_vector_rows, paged_heads, paged_ratio, convert_ops
        ]) AS value
    FROM engine_version
    UNION ALL
    SELECT
        'library_constant' AS kind,
        library_constant AS row_key,
        library_constant AS row_kind,
        'value' AS quantity,
        value
    FROM library_constant
    WHERE decides <> 'unit'
),

ruled_numbers AS (
    SELECT
        n.kind,
        n.row_key,
        n.quantity,
        n.value,
        MAX_BY(
            {
                'least': r.least,
                'most': r.most,
                'plausible_least': r.plausible_least,
                'plausible_most': r.plausible_most
            },
            r.row_kind <> '*'
        ) AS rule
    FROM listed_numbers AS n
    INNER JOIN number_rule AS r ON r.kind = n.kind AND r.quantity = n.quantity AND r.row_kind IN ('*', n.row_kind)
    WHERE n.value IS NOT NULL
    GROUP BY n.kind, n.row_key, n.quantity, n.value
)

SELECT
    -- Table that contains the number.
    kind,
    -- Key of the row that contains the number.
    row_key,
    -- Column that contains the number.
    quantity,
    -- Field name of the number: table, key and column, joined by points.
    CONCAT(kind, '.', row_key, '.', quantity) AS field,
    -- Current value, in the unit of the column.
    value,
    -- Range of possible or expected values.
    fault_reason(value, rule.least, rule.most, rule.plausible_least, rule.plausible_most) AS rule,
    -- True for a possible but implausible number; answers that depend on the number list it.
    value >= rule.least AND value <= rule.most AS is_possible
FROM ruled_numbers
WHERE NOT (value >= rule.least AND value <= rule.most AND value >= rule.plausible_least AND value <= rule.plausible_most)
