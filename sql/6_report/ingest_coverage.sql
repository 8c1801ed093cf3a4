-- Completeness of each ingested model: number of operators with and without a rule for their work, of operators with bounded sizes,
-- and sizes fixed to a number with the reason.
-- Grain: model
CREATE VIEW ingest_coverage AS
SELECT
    m.model,
    m.source,
    -- Number of operators, excluding views.
    CAST(SUM(CASE WHEN o.is_view THEN 0 ELSE 1 END) AS BIGINT) AS operator_count,
    -- Number of views: operators that move no bytes.
    CAST(SUM(CASE WHEN o.is_view THEN 1 ELSE 0 END) AS BIGINT) AS view_count,
    -- Number of operators whose work a rule computes.
    CAST(SUM(CASE WHEN NOT o.is_view AND o.rule IS NOT NULL THEN 1 ELSE 0 END) AS BIGINT) AS sized_count,
    -- Number of operators without a rule, whose work is unknown.
    CAST(SUM(CASE WHEN o.rule IS NULL THEN 1 ELSE 0 END) AS BIGINT) AS unsized_count,
    -- Number of operators whose data-dependent size is replaced by its upper bound.
    CAST(SUM(CASE WHEN o.is_size_bound THEN 1 ELSE 0 END) AS BIGINT) AS bounded_count,
    m.is_batch_symbolic,
    m.is_sequence_symbolic,
    m.specialized_reason
FROM model AS m
INNER JOIN operator AS o ON o.model = m.model
GROUP BY m.model, m.source, m.is_batch_symbolic, m.is_sequence_symbolic, m.specialized_reason
