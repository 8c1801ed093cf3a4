-- Every model under every scenario that is valid for it, with batch, sequence and context resolved.
-- Grain: model_id, scenario_id
CREATE VIEW run (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample; 1 where the model has no sequence axis.
    sequence,
    -- Tokens attended to a sample; equals the sequence outside decode.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Precision policy.
    policy,
    -- Backend.
    backend,
    -- Memory format asked for: `nchw` or `nhwc`.
    memory_format,
    -- Memory format of images and convolutions unless their own strides say otherwise: the one asked for, or the one
    -- that a backend plans.
    layout,
    -- Host dispatch time relative to the reference host.
    host_factor,
    -- 1 when the last-level cache may hold a tensor from its producer, 2 when also weights and inputs from
    -- the run before, else 0.
    is_cache_warm
) AS
WITH valid_pairs AS (
    SELECT
        m.model_id,
        s.scenario_id,
        s.batch,
        s.phase,
        s.policy,
        s.backend,
        s.memory_format,
        CASE WHEN b.plans_layout THEN COALESCE(m.planned_format, s.memory_format) ELSE s.memory_format END AS layout,
        s.host_factor,
        s.cache_state,
        CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END AS sequence,
        COALESCE(s.context, s.sequence, m.default_sequence) AS context
    FROM model AS m
    INNER JOIN scenario AS s
        ON (m.is_batch_symbolic OR s.batch = m.default_batch)
        AND (s.sequence IS NULL OR m.is_sequence_symbolic OR s.sequence = m.default_sequence)
        AND (s.phase <> 'decode' OR m.has_context)
    LEFT JOIN backend AS b ON b.backend = s.backend
)
SELECT
    model_id,
    scenario_id,
    CAST(batch AS DOUBLE) AS batch,
    CAST(sequence AS DOUBLE) AS sequence,
    CAST(context AS DOUBLE) AS context,
    phase,
    policy,
    backend,
    memory_format,
    layout,
    host_factor,
    CASE cache_state WHEN 'hot' THEN 2e0 WHEN 'warm' THEN 1e0 ELSE 0e0 END AS is_cache_warm
FROM valid_pairs
