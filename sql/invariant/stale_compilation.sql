-- Models compiled with other fusion, precision or backend rules than the file now contains. Their kernels and element types follow
-- the old rules until the model is ingested again.
-- Grain: model
CREATE VIEW stale_compilation AS
WITH rule_line AS (
    SELECT 'backend|' || backend || '|' || CAST(folds_norm AS VARCHAR)
        || '|' || CAST(stores_wide AS VARCHAR) || '|' || CAST(plans_layout AS VARCHAR)
        || '|' || CAST(plans_memory AS VARCHAR) || '|' || CAST(calls_aten AS VARCHAR)
        || '|' || CAST(serves AS VARCHAR) || '|' || COALESCE(captures, '') AS line
    FROM backend
    UNION ALL
    SELECT 'fusion_rule|' || backend || '|' || producer_class || '|' || consumer_class || '|' || condition
    FROM fusion_rule
    UNION ALL
    SELECT
        'operator_class|' || operator_class || '|' || CAST(is_matrix AS VARCHAR)
        || '|' || CAST(is_convolution AS VARCHAR) || '|' || CAST(is_foldable AS VARCHAR)
        || '|' || CAST(allocates_result AS VARCHAR) || '|' || CAST(is_widening AS VARCHAR)
        || '|' || CAST(is_normalizing AS VARCHAR) || '|' || CAST(saves_nothing AS VARCHAR)
        || '|' || CAST(takes_bias AS VARCHAR) || '|' || CAST(saves_other AS VARCHAR) AS line
    FROM operator_class
    UNION ALL
    SELECT 'precision|' || precision || '|' || CAST(bits AS VARCHAR) || '|' || kind || '|' || accumulator
    FROM precision
    UNION ALL
    SELECT
        'precision_policy|' || policy || '|' || operator_class || '|' || rule
        || '|' || COALESCE(compute_precision, '')
        || '|' || COALESCE(weight_precision, '')
        || '|' || COALESCE(activation_precision, '')
    FROM precision_policy
),

current_rules AS (
    SELECT MD5(STRING_AGG(line, CHR(10) ORDER BY line)) AS fingerprint
    FROM rule_line
)

SELECT
    m.model,
    -- Fingerprint stored when the model was compiled: compiler version and hash of the rules.
    m.rules_fingerprint AS compiled_fingerprint,
    -- Hash of the current rules.
    c.fingerprint AS current_fingerprint
FROM model AS m
CROSS JOIN current_rules AS c
WHERE SUBSTRING(m.rules_fingerprint, STRPOS(m.rules_fingerprint, '-') + 1) <> c.fingerprint
