-- What ingest knows and does not know of each model: operators by how they were sized, what was
-- bounded, what was fixed to a number and why.
-- Grain: model
CREATE VIEW ingest_coverage (
    -- Name of the model.
    model,
    -- Where it came from.
    source,
    -- Operators, views not counted.
    operator_count,
    -- Operators that move nothing.
    view_count,
    -- Operators sized by a rule.
    sized_count,
    -- Operators without a rule: their work is unknown.
    unsized_count,
    -- Operators whose size is an upper bound of one that depends on data.
    bounded_count,
    -- True when any batch can be asked for.
    is_batch_symbolic,
    -- True when any sequence length can be asked for.
    is_sequence_symbolic,
    -- Why a size is fixed; null when none is.
    specialized_reason
) AS
SELECT
    m.model,
    m.source,
    CAST(COALESCE(SUM(CASE WHEN o.is_view THEN 0 ELSE 1 END), 0) AS BIGINT) AS operator_count,
    CAST(COALESCE(SUM(CASE WHEN o.is_view THEN 1 ELSE 0 END), 0) AS BIGINT) AS view_count,
    CAST(COALESCE(SUM(CASE WHEN NOT o.is_view AND o.rule IS NOT NULL THEN 1 ELSE 0 END), 0) AS BIGINT) AS sized_count,
    CAST(COALESCE(SUM(CASE WHEN o.rule IS NULL THEN 1 ELSE 0 END), 0) AS BIGINT) AS unsized_count,
    CAST(COALESCE(SUM(CASE WHEN o.is_size_bound THEN 1 ELSE 0 END), 0) AS BIGINT) AS bounded_count,
    m.is_batch_symbolic,
    m.is_sequence_symbolic,
    m.specialized_reason
FROM model AS m
INNER JOIN operator AS o ON o.model_id = m.model_id
GROUP BY m.model, m.source, m.is_batch_symbolic, m.is_sequence_symbolic, m.specialized_reason
