-- Every model under every scenario that is valid for it, with batch, sequence and context resolved. One with a backward pass
-- runs where backend and policy train.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE TABLE run AS
SELECT
    m.model,
    s.backend,
    s.precision,
    s.batch,
    c.batch_class,
    -- Tokens processed a sample; 1 in decode, and where the model has no sequence axis.
    CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END AS sequence,
    s.scenario_id,
    -- Tokens attended to a sample; equals the sequence outside decode.
    COALESCE(s.context, s.sequence, m.default_sequence) AS context,
    s.phase,
    s.memory_format,
    -- Memory format of images and convolutions unless their own strides say otherwise: the one asked for, or the one
    -- that a backend plans.
    CASE WHEN b.plans_layout THEN COALESCE(m.planned_format, s.memory_format) ELSE s.memory_format END AS run_layout,
    s.host_factor,
    s.cache_state,
    -- Power mode: `default`, the name of one of the part's, or a number of watts as in `150w`.
    COALESCE(s.power, 'default') AS power,
    -- Watts that the name says; null where it says none. [W]
    TRY_CAST(NULLIF(REGEXP_EXTRACT(s.power, '^([0-9]+(\.[0-9]+)?)w$', 1), '') AS DOUBLE) AS power_w
FROM model AS m
INNER JOIN scenario AS s
    ON (m.is_batch_symbolic OR s.batch = m.default_batch)
    AND (s.sequence IS NULL OR m.is_sequence_symbolic OR s.sequence = m.default_sequence)
    AND (s.phase <> 'decode' OR m.has_context)
INNER JOIN backend AS b ON b.backend = s.backend
INNER JOIN batch_class AS c ON s.batch >= c.from_batch AND COALESCE(s.batch <= c.to_batch, TRUE)
LEFT JOIN untrained_policy AS u ON u.precision = s.precision
WHERE NOT m.is_training OR (b.trains AND u.precision IS NULL)
