-- What ingest knows and does not know of each model: operators by how they were sized, what was
-- bounded, what was fixed to a number and why.
-- Grain: model
CREATE VIEW ingest_coverage AS
SELECT
    m.model,
    m.source,
    -- Operators, views not counted.
    CAST(SUM(CASE WHEN o.is_view THEN 0 ELSE 1 END) AS BIGINT) AS operator_count,
    -- Operators that move nothing.
    CAST(SUM(CASE WHEN o.is_view THEN 1 ELSE 0 END) AS BIGINT) AS view_count,
    -- Operators sized by a rule.
    CAST(SUM(CASE WHEN NOT o.is_view AND o.rule IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT) AS sized_count,
    -- Operators without a rule: their work is unknown.
    CAST(SUM(CASE WHEN o.rule IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS unsized_count,
    -- Operators whose size is an upper bound of one that depends on data.
    CAST(SUM(CASE WHEN o.is_size_bound THEN 1 ELSE 0 END) AS BIGINT) AS bounded_count,
    m.is_batch_symbolic,
    m.is_sequence_symbolic,
    m.specialized_reason
FROM model AS m
INNER JOIN operator AS o ON o.model = m.model
GROUP BY m.model, m.source, m.is_batch_symbolic, m.is_sequence_symbolic, m.specialized_reason
