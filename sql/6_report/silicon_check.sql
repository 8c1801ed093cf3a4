-- Comparison of a part's quantities with the rules of its process: published die area, transistor density, energies of operations
-- relative to the bare circuit, and idle power. Large differences are marked.
-- Grain: hardware, quantity
CREATE VIEW silicon_check AS
WITH circuit_ratios AS (
    SELECT e.hardware, MEDIAN(e.value / NULLIF(r.value * s.circuit_j, 0e0)) AS ratio
    FROM part_energy AS e
    INNER JOIN part_silicon AS s ON s.hardware = e.hardware
    INNER JOIN part_rule AS r
        ON r.hardware = e.hardware AND r.quantity = 'circuit_ratio' AND r.row_key = SPLIT_PART(e.key, '.', 1)
    WHERE e.what = 'op' AND ENDS_WITH(e.key, '.matrix') AND NOT e.is_stated
    GROUP BY e.hardware
),

compared_numbers AS (
    SELECT hardware, 'area_mm2' AS quantity, ruled_mm2 AS ruled, printed_mm2 AS stated, source_id FROM die_check
    UNION ALL
    SELECT
        d.hardware,
        'density_mtr_per_mm2' AS quantity,
        r.value AS ruled,
        d.transistor_count / 1e6 / NULLIF(d.die_area_mm2, 0e0) AS stated,
        d.source_id
    FROM die AS d
    INNER JOIN hardware AS h ON h.hardware = d.hardware
    INNER JOIN part_rule AS r
        ON r.hardware = d.hardware AND r.quantity = 'logic_mtr_per_mm2' AND r.row_key = CAST(CAST(FLOOR(h.process_nm) AS BIGINT) AS VARCHAR)
    WHERE d.transistor_count IS NOT NULL AND d.die_area_mm2 IS NOT NULL
    UNION ALL
    SELECT hardware, 'lift' AS quantity, 1e0 AS ruled, ratio AS stated, 'charz_rule' AS source_id FROM circuit_ratios
    UNION ALL
    SELECT hardware, CONCAT('rest.', state) AS quantity, ruled_w AS ruled, stated_w AS stated, source_id FROM rest_check
)

SELECT
    hardware,
    -- Compared quantity: `area_mm2`, `density_mtr_per_mm2`, `lift` (energy of a matrix operation relative to the bare circuit), or
    -- `rest.` followed by an idle state.
    quantity,
    -- Value by the rules of its process.
    ruled,
    -- Published or stated value.
    stated,
    -- Ratio of the larger value to the smaller.
    GREATEST(ruled / NULLIF(stated, 0e0), stated / NULLIF(ruled, 0e0)) AS factor,
    -- True if the factor exceeds 1.5.
    GREATEST(ruled / NULLIF(stated, 0e0), stated / NULLIF(ruled, 0e0)) > 1.5e0 AS is_off,
    source_id
FROM compared_numbers
