-- Numbers of every part that the derivation rules give, one row per field: the value of an unstated number, or the reference of a
-- stated number.
-- Grain: hardware, field
CREATE VIEW derived_number AS
WITH found_numbers AS (
    SELECT hardware, CONCAT('memory.', level, '.', SPLIT_PART(quantity, '.', 2)) AS field, derivation_rule, value
    FROM derived_memory
    UNION ALL
    SELECT hardware, CONCAT('overhead.', overhead, '.overhead_s') AS field, derivation_rule, overhead_s AS value
    FROM derived_overhead
    UNION ALL
    SELECT
        hardware,
        CONCAT('peak.', precision, '.', unit, '.', accumulator, '.peak_ops_per_s') AS field,
        derivation_rule,
        peak_ops_per_s AS value
    FROM derived_vector
),

explained_numbers AS (
    SELECT
        n.hardware,
        n.field,
        n.value,
        n.derivation_rule,
        r.basis,
        CASE WHEN r.basis = 'one' THEN '' ELSE CONCAT(FORMAT('{:g}', r.value), ' ', r.unit, ' x ') END AS factor,
        r.reason,
        r.source_id,
        r.confidence
    FROM found_numbers AS n
    INNER JOIN derivation_rule AS r ON r.derivation_rule = n.derivation_rule
    UNION ALL
    SELECT
        hardware,
        CONCAT('peak.', precision, '.', unit, '.', accumulator, '.peak_ops_per_s') AS field,
        derived_ops_per_s AS value,
        CAST(NULL AS VARCHAR) AS derivation_rule,
        'product' AS basis,
        '' AS factor,
        CAST(NULL AS VARCHAR) AS reason,
        'charz_rule' AS source_id,
        'derived' AS confidence
    FROM stated_peak
    UNION ALL
    SELECT
        hardware,
        CONCAT('peak.', precision, '.', unit, '.', accumulator, '.peak_ops_per_s') AS field,
        peak_ops_per_s AS value,
        CAST(NULL AS VARCHAR) AS derivation_rule,
        'matrix_peak' AS basis,
        CONCAT(FORMAT('{:g}', sparse_ratio), ' x ') AS factor,
        CAST(NULL AS VARCHAR) AS reason,
        source_id,
        confidence
    FROM derived_sparse
    UNION ALL
    SELECT
        hardware,
        CONCAT('cluster.', cluster, '.clock_matrix_hz') AS field,
        clock_boost_hz AS value,
        CAST(NULL AS VARCHAR) AS derivation_rule,
        'matrix_clock' AS basis,
        '' AS factor,
        CAST(NULL AS VARCHAR) AS reason,
        'charz_rule' AS source_id,
        'derived' AS confidence
    FROM part_cluster
    WHERE clock_matrix_hz IS NOT NULL
    UNION ALL
    SELECT
        c.hardware,
        CONCAT('cluster.', c.cluster, '.accumulator_rows') AS field,
        f.accumulator_rows AS value,
        CAST(NULL AS VARCHAR) AS derivation_rule,
        'family' AS basis,
        '' AS factor,
        CAST(NULL AS VARCHAR) AS reason,
        f.source_id,
        f.confidence
    FROM hardware_cluster AS c
    INNER JOIN hardware AS h ON h.hardware = c.hardware
    INNER JOIN hardware_family AS f ON f.family = h.family
    WHERE c.array_columns IS NOT NULL AND f.accumulator_rows IS NOT NULL
    UNION ALL
    SELECT
        hardware,
        CONCAT('energy.', what, '.', key) AS field,
        value,
        CAST(NULL AS VARCHAR) AS derivation_rule,
        CASE
            WHEN what = 'static' THEN 'static_power'
            WHEN what = 'byte' AND key <> 'dram' THEN 'sram'
            ELSE 'silicon'
        END AS basis,
        formula AS factor,
        CAST(NULL AS VARCHAR) AS reason,
        source_id,
        confidence
    FROM part_energy
    WHERE NOT is_stated
)

SELECT
    e.hardware,
    -- Field name of the number, as in `hardware_value`.
    e.field,
    -- Value by the rule, in the unit of the field.
    e.value,
    -- Unit of the field.
    CASE
        WHEN ENDS_WITH(e.field, '_byte_per_s') THEN 'byte/s'
        WHEN ENDS_WITH(e.field, '_ops_per_s') THEN 'ops/s'
        WHEN ENDS_WITH(e.field, '_byte') THEN 'byte'
        WHEN ENDS_WITH(e.field, '_hz') THEN 'Hz'
        WHEN ENDS_WITH(e.field, '_rows') THEN 'count'
        WHEN STARTS_WITH(e.field, 'energy.op.') THEN 'J/op'
        WHEN STARTS_WITH(e.field, 'energy.byte.') THEN 'J/byte'
        WHEN STARTS_WITH(e.field, 'energy.') THEN 'W'
        ELSE 's'
    END AS unit,
    -- Row of `derivation_rule` that gives the number; null for a product of other numbers of the part.
    e.derivation_rule,
    -- Formula of the number in words.
    CONCAT(e.factor, COALESCE(CASE WHEN e.basis = 'one' THEN e.reason ELSE b.formula END, '')) AS formula,
    -- Inputs of the formula (`derivation_input`).
    e.basis,
    -- Reason for the rule; null for a product.
    e.reason,
    -- Source of the rule.
    e.source_id,
    -- Confidence in the rule.
    e.confidence
FROM explained_numbers AS e
INNER JOIN derivation_basis AS b ON b.basis = e.basis
