-- Every number of every part with its origin: a document, a rule, or unknown.
-- Grain: hardware, field
CREATE TABLE traced_number AS
-- Stated values of numbers that rules can derive.
WITH stated_numbers AS (
    SELECT hardware, CONCAT('cluster.', cluster, '.clock_matrix_hz') AS field, clock_matrix_hz AS value
    FROM hardware_cluster
    UNION ALL
    SELECT hardware, CONCAT('cluster.', cluster, '.accumulator_rows') AS field, accumulator_rows AS value
    FROM hardware_cluster
    UNION ALL
    SELECT hardware, CONCAT('memory.', level, '.bandwidth_byte_per_s') AS field, bandwidth_byte_per_s AS value
    FROM hardware_memory
    UNION ALL
    SELECT
        hardware,
        CONCAT('memory.', level, '.unit_bandwidth_byte_per_s') AS field,
        unit_bandwidth_byte_per_s AS value
    FROM hardware_memory
    UNION ALL
    SELECT hardware, CONCAT('memory.', level, '.capacity_byte') AS field, capacity_byte AS value
    FROM hardware_memory
    UNION ALL
    SELECT
        hardware,
        CONCAT('peak.', precision, '.', unit, '.', accumulator, '.peak_ops_per_s') AS field,
        peak_ops_per_s AS value
    FROM hardware_peak
    UNION ALL
    SELECT hardware, CONCAT('overhead.', overhead, '.overhead_s') AS field, overhead_s AS value
    FROM hardware_overhead
),

found_numbers AS (
    SELECT
        n.hardware,
        n.kind,
        n.field,
        n.value,
        CASE WHEN d.field IS NULL THEN n.value ELSE t.value END AS stated_value,
        CASE WHEN d.field IS NULL OR t.value IS NOT NULL THEN p.source_id ELSE d.source_id END AS source_id,
        CASE WHEN d.field IS NULL OR t.value IS NOT NULL THEN p.confidence ELSE d.confidence END AS confidence,
        p.catalog_value,
        COALESCE(p.unit, d.unit) AS unit,
        -- A stated peak is a multiple of its product; another stated number does not have its rule's value.
        CASE WHEN t.value IS NULL OR d.basis = 'product' THEN COALESCE(p.formula, d.formula) ELSE p.formula END AS formula,
        CASE WHEN t.value IS NULL OR d.basis = 'product' THEN COALESCE(p.note, d.reason) ELSE p.note END AS note,
        d.derivation_rule,
        d.basis
    FROM part_number AS n
    LEFT JOIN stated_numbers AS t ON t.hardware = n.hardware AND t.field = n.field
    LEFT JOIN derived_number AS d ON d.hardware = n.hardware AND d.field = n.field
    LEFT JOIN hardware_provenance AS p ON p.hardware = n.hardware AND p.field = n.field
)

SELECT
    n.hardware,
    n.kind,
    n.field,
    n.value,
    -- Value in the part's row; null for a derived number.
    n.stated_value,
    -- Value in the catalog file; null for a number that the file does not state.
    n.catalog_value,
    -- Unit of the values; null if neither a source nor a rule states the unit.
    n.unit,
    -- Source of the value or of its rule; null for a number without provenance.
    n.source_id,
    -- Confidence in the value.
    n.confidence,
    -- True for a guess or a number without provenance.
    COALESCE(c.is_guess, TRUE) AS is_guess,
    -- Origin of the number: `stated`, `derived` from other numbers, or `assumed` (a guess, or a number without provenance).
    CASE
        WHEN COALESCE(c.is_guess, TRUE) THEN 'assumed'
        WHEN n.stated_value IS NULL OR c.confidence = 'derived' THEN 'derived'
        ELSE 'stated'
    END AS standing,
    -- Row of `derivation_rule` that gives the number, or to whose value a stated number keeps its ratio; null without a rule and
    -- for a product of other numbers of the part.
    n.derivation_rule,
    -- Formula of the value: from the source of a stated number, else from the rule; a stated peak also has its product.
    n.formula,
    -- Inputs of the number (`derivation_input`); null without inputs.
    n.basis,
    -- Further remark on the number.
    n.note
FROM found_numbers AS n
INNER JOIN hardware AS h ON h.hardware = n.hardware
LEFT JOIN confidence AS c ON c.confidence = n.confidence
