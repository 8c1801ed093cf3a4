-- What an answer about a part under a backend and precision policy rests on that no document states: inputs
-- of the catalog whose confidence is a guess. Live, so a number given a source is counted no more.
-- Grain: hardware, backend, policy
CREATE VIEW assumed_input AS
WITH part_numbers AS (
    SELECT
        p.hardware,
        SUM(CASE WHEN p.field LIKE 'energy.%' OR p.field LIKE 'price.%' OR p.field LIKE 'interconnect.%'
            OR p.field LIKE 'hardware.%' THEN 0 ELSE 1 END) AS part_count,
        SUM(CASE WHEN p.field LIKE 'energy.%' THEN 1 ELSE 0 END) AS energy_count,
        SUM(CASE WHEN p.field LIKE 'price.%' THEN 1 ELSE 0 END) AS price_count,
        SUM(CASE WHEN p.field LIKE 'interconnect.%' THEN 1 ELSE 0 END) AS link_count
    FROM hardware_provenance AS p
    INNER JOIN confidence AS c ON c.confidence = p.confidence
    WHERE c.is_guess
    GROUP BY p.hardware
),

chosen_rows AS (
    SELECT
        hardware,
        backend,
        COUNT(DISTINCT CASE WHEN matrix_basis LIKE '%, assumed' THEN matrix_basis END)
        + COUNT(DISTINCT CASE WHEN vector_basis LIKE '%, assumed' THEN vector_basis END)
        + COUNT(DISTINCT CASE WHEN memory_basis LIKE '%, assumed' THEN memory_basis END)
        + COUNT(DISTINCT CASE WHEN overlap_basis LIKE '%, assumed' THEN overlap_basis END)
        + COUNT(DISTINCT CASE WHEN residency_basis LIKE '%, assumed' THEN residency_basis END)
        + COUNT(DISTINCT CASE WHEN reorder_basis LIKE '%, assumed' THEN reorder_basis END)
        + COUNT(DISTINCT CASE WHEN paging_basis LIKE '%, assumed' THEN paging_basis END)
        + COUNT(DISTINCT CASE WHEN thread_basis LIKE '%, assumed' THEN thread_basis END) AS efficiency_count
    FROM efficiency_choice
    GROUP BY hardware, backend
),

supporting_rows AS (
    SELECT backend, '*' AS family, '*' AS vendor, confidence FROM backend
    UNION ALL
    SELECT backend, family, vendor, confidence FROM backend_support
    UNION ALL
    SELECT backend, '*' AS family, '*' AS vendor, confidence FROM fusion_rule
    UNION ALL
    SELECT '*' AS backend, family, '*' AS vendor, confidence FROM tiling_strategy
),

backend_rows AS (
    SELECT h.hardware, b.backend, COUNT(*) AS backend_count
    FROM hardware AS h
    CROSS JOIN backend AS b
    INNER JOIN supporting_rows AS s
        ON s.backend IN ('*', b.backend) AND s.family IN ('*', h.family) AND s.vendor IN ('*', h.vendor)
    INNER JOIN confidence AS c ON c.confidence = s.confidence
    WHERE c.is_guess
    GROUP BY h.hardware, b.backend
),

policies AS (
    SELECT r.policy, SUM(CASE WHEN c.is_guess THEN 1 ELSE 0 END) AS policy_count
    FROM precision_policy AS r
    INNER JOIN confidence AS c ON c.confidence = r.confidence
    GROUP BY r.policy
)

SELECT
    e.hardware,
    e.backend,
    -- Precision policy.
    p.policy,
    -- Numbers of the part that time or memory rest on: units, clocks, peaks, memory levels, power, overheads.
    CAST(COALESCE(n.part_count, 0) AS BIGINT) AS part_count,
    -- Energy coefficients of the part.
    CAST(COALESCE(n.energy_count, 0) AS BIGINT) AS energy_count,
    -- Rows of `efficiency` that are in force for the part and backend.
    e.efficiency_count,
    -- Rows that describe the backend: itself, its dispatch on the family, its fusions, the family's tiles.
    COALESCE(b.backend_count, 0) AS backend_count,
    -- Rows of the precision policy.
    CAST(p.policy_count AS BIGINT) AS policy_count,
    -- All of the above: what a time, an energy or a memory rests on.
    CAST(
        COALESCE(n.part_count, 0) + COALESCE(n.energy_count, 0) + e.efficiency_count + COALESCE(b.backend_count, 0)
        + p.policy_count
        AS BIGINT
    ) AS assumed_count,
    -- Prices of the part, which money rests on besides.
    CAST(COALESCE(n.price_count, 0) AS BIGINT) AS price_count,
    -- Numbers of the part's links, which a plan for several devices rests on besides.
    CAST(COALESCE(n.link_count, 0) AS BIGINT) AS link_count
FROM chosen_rows AS e
CROSS JOIN policies AS p
LEFT JOIN part_numbers AS n ON n.hardware = e.hardware
LEFT JOIN backend_rows AS b ON b.hardware = e.hardware AND b.backend = e.backend

