-- Number of inputs of an answer that no document states: numbers of the part whose confidence is a guess, and efficiencies lent by
-- a sibling part or another backend.
-- Grain: hardware, backend, precision
CREATE TABLE assumed_input AS
WITH part_numbers AS (
    SELECT
        hardware,
        SUM(CASE WHEN kind IN ('cluster', 'memory', 'peak', 'power', 'overhead') THEN 1 ELSE 0 END) AS part_count,
        SUM(CASE WHEN kind = 'energy' THEN 1 ELSE 0 END) AS energy_count,
        SUM(CASE WHEN kind IN ('price', 'list_price') THEN 1 ELSE 0 END) AS price_count,
        SUM(CASE WHEN kind = 'interconnect' THEN 1 ELSE 0 END) AS link_count
    FROM traced_number
    WHERE is_guess
    GROUP BY hardware
),

chosen_rows AS (
    SELECT DISTINCT
        efficiency_chain,
        UNNEST([
            matrix_efficiency_id, vector_efficiency_id, memory_efficiency_id, overlap_efficiency_id, residency_efficiency_id,
            reorder_efficiency_id, paging_efficiency_id, thread_efficiency_id
        ]) AS efficiency_id
    FROM chain_efficiency
),

part_rows AS (
    SELECT b.hardware, b.backend, r.efficiency_id
    FROM chosen_rows AS r
    INNER JOIN part_backend AS b ON b.efficiency_chain = r.efficiency_chain
),

efficiency_rows AS (
    SELECT r.hardware, r.backend, COUNT(*) AS efficiency_count
    FROM part_rows AS r
    INNER JOIN efficiency AS e ON e.efficiency_id = r.efficiency_id
    INNER JOIN confidence AS c ON c.confidence = e.confidence
    LEFT JOIN lending_part AS l ON l.hardware = r.hardware AND l.backend = e.backend AND e.scope = CONCAT('hardware:', l.lender)
    WHERE c.is_guess OR e.backend NOT IN ('*', r.backend) OR l.lender IS NOT NULL
    GROUP BY r.hardware, r.backend
),

supporting_rows AS (
    SELECT '*' AS hardware, backend, '*' AS family, '*' AS vendor, confidence FROM backend
    UNION ALL
    SELECT '*' AS hardware, backend, family, vendor, confidence FROM backend_support
    UNION ALL
    SELECT '*' AS hardware, backend, '*' AS family, '*' AS vendor, confidence FROM fusion_rule
    UNION ALL
    SELECT hardware, '*' AS backend, '*' AS family, '*' AS vendor, confidence FROM part_strategy
    UNION ALL
    SELECT hardware, backend, '*' AS family, '*' AS vendor, confidence FROM part_context WHERE NOT is_counterpart
),

backend_rows AS (
    SELECT h.hardware, h.backend, COUNT(*) AS backend_count
    FROM supporting_rows AS s
    INNER JOIN confidence AS c ON c.confidence = s.confidence
    INNER JOIN supported_backend AS h
        ON s.hardware IN ('*', h.hardware) AND s.backend IN ('*', h.row_backend) AND s.family IN ('*', h.family)
        AND s.vendor IN ('*', h.vendor)
    WHERE c.is_guess
    GROUP BY h.hardware, h.backend
),

policy_rows AS (
    SELECT r.policy, SUM(CASE WHEN c.is_guess THEN 1 ELSE 0 END) AS policy_count
    FROM precision_policy AS r
    INNER JOIN confidence AS c ON c.confidence = r.confidence
    GROUP BY r.policy
),

-- Parts without a rental price: the cost of owning them follows from their list price by assumed rules.
bought_parts AS (
    SELECT l.hardware
    FROM list_price AS l
    LEFT JOIN price AS p ON p.hardware = l.hardware
    WHERE p.hardware IS NULL
),

doubted_numbers AS (
    SELECT hardware, '*' AS backend, field
    FROM part_fault
    WHERE CASE WHEN kind = 'interconnect' THEN field LIKE '%.bandwidth_byte_per_s' ELSE is_possible END
        AND kind NOT IN ('mesh', 'price', 'list_price') AND field NOT IN ('hardware.year', 'hardware.die_count')
    UNION ALL
    SELECT s.hardware, s.backend, f.field
    FROM supported_backend AS s
    LEFT JOIN part_context AS c ON c.hardware = s.hardware AND c.backend = s.backend
    INNER JOIN rule_fault AS f
        ON f.is_possible AND f.kind IN ('backend_support', 'device_context')
        AND f.row_key = CASE WHEN f.kind = 'backend_support' THEN s.support_row ELSE c.context_row END
    UNION ALL
    SELECT r.hardware, r.backend, f.field
    FROM part_rows AS r
    INNER JOIN rule_fault AS f
        ON f.kind = 'efficiency' AND f.row_key = CAST(r.efficiency_id AS VARCHAR) AND f.is_possible
    UNION ALL
    SELECT s.hardware, '*' AS backend, f.field
    FROM part_strategy AS s
    INNER JOIN rule_fault AS f
        ON f.kind = 'tiling_strategy' AND f.row_key = CONCAT(s.family, '.', s.candidate) AND f.is_possible
    UNION ALL
    SELECT h.hardware, '*' AS backend, f.field
    FROM hardware AS h
    INNER JOIN rule_fault AS f ON f.kind = 'library_constant' AND f.is_possible
),

doubts AS (
    SELECT t.hardware, t.backend, STRING_AGG(DISTINCT d.field, ', ' ORDER BY d.field) AS implausible
    FROM supported_backend AS t
    INNER JOIN doubted_numbers AS d ON d.hardware = t.hardware AND d.backend IN ('*', t.backend)
    GROUP BY t.hardware, t.backend
)

SELECT
    t.hardware,
    t.backend,
    t.precision,
    -- Number of assumed numbers of the part that affect time or memory: units, clocks, peaks, memory levels, power, overheads.
    CAST(COALESCE(n.part_count, 0) AS BIGINT) AS part_count,
    -- Number of assumed energy coefficients of the part.
    CAST(COALESCE(n.energy_count, 0) AS BIGINT) AS energy_count,
    -- Number of assumed or lent rows of `efficiency` that apply to the part and backend.
    COALESCE(e.efficiency_count, 0) AS efficiency_count,
    -- Number of assumed rows about the backend: backend, dispatch, fusion rules, context and the family's tiles.
    COALESCE(b.backend_count, 0) AS backend_count,
    -- Number of assumed rows of the precision policy.
    CAST(p.policy_count AS BIGINT) AS policy_count,
    -- Sum of the assumed inputs of the part, its energies, efficiencies, backend and policy.
    CAST(
        COALESCE(n.part_count, 0) + COALESCE(n.energy_count, 0) + COALESCE(e.efficiency_count, 0)
        + COALESCE(b.backend_count, 0) + p.policy_count
        AS BIGINT
    ) AS assumed_count,
    -- Number of assumed prices of the part, plus one if it is a cost of owning by assumed rules. Prices affect costs only.
    CAST(COALESCE(n.price_count, 0) + CASE WHEN o.hardware IS NULL THEN 0 ELSE 1 END AS BIGINT) AS price_count,
    -- Number of assumed numbers of the part's links, which affect plans for several devices only.
    CAST(COALESCE(n.link_count, 0) AS BIGINT) AS link_count,
    -- Possible but implausible numbers of the part and its rules (`implausible_number`); else null.
    d.implausible
FROM part_support AS t
INNER JOIN policy_rows AS p ON p.policy = t.precision
LEFT JOIN part_numbers AS n ON n.hardware = t.hardware
LEFT JOIN bought_parts AS o ON o.hardware = t.hardware
LEFT JOIN efficiency_rows AS e ON e.hardware = t.hardware AND e.backend = t.backend
LEFT JOIN backend_rows AS b ON b.hardware = t.hardware AND b.backend = t.backend
LEFT JOIN doubts AS d ON d.hardware = t.hardware AND d.backend = t.backend
