-- Every model under every scenario that is valid for it, with batch, sequence and context resolved. Models with a backward pass
-- need a backend and policy that train; backends that serve run models with a KV cache only.
-- Grain: run
CREATE TABLE run AS
WITH condition_faults AS (
    SELECT
        kind,
        row_key,
        MIN(CASE WHEN NOT is_possible THEN field END) AS fault,
        STRING_AGG(CASE WHEN is_possible THEN field END, ', ' ORDER BY field) AS implausible
    FROM condition_fault
    GROUP BY kind, row_key
),

-- Formats in which a model stores tensors or computes under a policy, and the choice of its experts.
format_faults AS (
    SELECT
        t.model,
        t.policy,
        MIN(f.fault) AS fault,
        STRING_AGG(DISTINCT f.implausible, ', ') AS implausible
    FROM condition_faults AS f
    INNER JOIN (
        SELECT model, policy, 'precision' AS kind, precision AS row_key FROM tensor_precision
        UNION ALL
        SELECT model, policy, 'precision' AS kind, precision AS row_key FROM operator_precision
        UNION ALL
        SELECT m.model, r.policy, 'expert_skew' AS kind, m.architecture_family AS row_key FROM model AS m CROSS JOIN precision_policy AS r
    ) AS t ON t.kind = f.kind AND t.row_key = f.row_key
    GROUP BY t.model, t.policy
),

library_faults AS (
    SELECT
        c.decides,
        MIN(f.fault) AS fault,
        STRING_AGG(f.implausible, ', ' ORDER BY f.implausible) AS implausible
    FROM condition_faults AS f
    INNER JOIN library_constant AS c ON c.library_constant = f.row_key
    WHERE f.kind = 'library_constant'
    GROUP BY c.decides
)

SELECT
    -- Key of the run: model, backend, precision policy, samples (`batch`), processed tokens of a sample (`sequence`; 1 in decode
    -- and for models without a sequence axis) and number of its scenario (`scenario_id`).
    STRUCT_PACK(
        model := m.model, backend := s.backend, precision := s.precision, batch := s.batch,
        sequence := CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END,
        scenario_id := s.scenario_id
    ) AS run,
    c.batch_class,
    -- Number of tokens of a sample that attention reads; equals the sequence outside of decode.
    COALESCE(s.context, s.sequence, m.default_sequence) AS context,
    s.phase,
    -- Number of tokens of a sample whose logits are computed: the last token on a backend that serves, else all.
    CASE
        WHEN s.phase = 'decode' OR b.serves THEN 1
        ELSE COALESCE(s.sequence, m.default_sequence)
    END AS logit_tokens,
    -- Version of the backend; `none` when unknown.
    COALESCE(v.engine_version, 'none') AS engine_version,
    -- Format of the KV cache; `none` for the format of keys and values in the precision policy.
    COALESCE(s.kv_precision, 'none') AS kv_precision,
    -- Number of devices that share each kernel by tensor parallelism.
    COALESCE(s.device_count, 1) AS device_count,
    -- Share of the weights in the host's memory, which crosses the link in every step.
    COALESCE(s.weight_host_fraction, 0e0) AS weight_host_fraction,
    -- Share of the KV cache in the host's memory, which crosses the link in every step.
    COALESCE(s.cache_host_fraction, 0e0) AS cache_host_fraction,
    -- Share of the inputs that crosses the link from the host's memory.
    COALESCE(s.input_host_fraction, 0e0) AS input_host_fraction,
    -- Bits of an element of the KV cache; null for the policy's format.
    q.bits AS kv_bits,
    -- Ratio of the tokens in a server's chunk to the tokens of the run, because a step needs the activations of a whole chunk; 1
    -- for backends that do not serve.
    CASE
        WHEN b.serves THEN b.chunk_tokens / NULLIF(s.batch * CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END, 0)
        ELSE 1e0 END AS chunk_factor,
    -- Chunks of prompts that a server processes one after the other: each of as many prompts as fit, or of a part of one; 1 in
    -- decode and for other backends.
    CASE
        WHEN NOT b.serves OR s.phase = 'decode' THEN 1e0
        WHEN COALESCE(s.sequence, m.default_sequence) > b.chunk_tokens
            THEN s.batch * CEIL(COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0))
        ELSE GREATEST(1e0, CEIL(s.batch * COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0)))
    END AS chunk_count,
    -- Fewest bits in which the backend stores activations between kernels; null for the policy's format.
    b.activation_bits,
    v.paged_heads,
    v.paged_ratio,
    v.convert_ops,
    -- Largest number of rows of a product for which the backend uses kernels on the vector units; null without such kernels.
    b.vector_rows,
    -- Queries in a block of the backend's attention, which skips keys that a causal mask hides from the whole block; null if every
    -- score is computed.
    b.causal_block,
    v.linear_vector_rows,
    -- True if the engine runs kernels of its own that do the work of several (`merged_kernel`), and its own all-reduces.
    COALESCE(v.merges_kernels, FALSE) AS merges_kernels,
    -- True if a separate kernel scales the activations of each linear layer of 8 bits or fewer.
    COALESCE(v.quantizes_apart, FALSE) AS quantizes_apart,
    -- Steps in which a server processes the run.
    CASE WHEN NOT b.serves OR s.phase = 'decode' THEN 1e0
        ELSE GREATEST(1e0, CEIL(s.batch * COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0))) END AS engine_steps,
    -- Host time of the run by the engine's version: for each step and each sample; null when unknown. [s]
    v.step_s * engine_steps + s.batch * v.sample_s AS engine_s,
    -- Time to launch each kernel of the run under the engine's version: per engine step, per sample and per prompt. [s]
    s.host_factor * COALESCE(
        v.kernel_s * engine_steps + s.batch * v.kernel_sample_s + CASE WHEN s.phase = 'decode' THEN 0e0 ELSE v.prompt_kernel_s END, 0e0
    ) AS launch_s,
    s.memory_format,
    -- Memory format of images and convolutions with default strides: the requested format, or the format that the backend plans.
    CASE WHEN b.plans_layout THEN COALESCE(m.planned_format, s.memory_format) ELSE s.memory_format END AS run_layout,
    s.host_factor,
    s.cache_state,
    -- Power mode: `default`, the name of a mode of the part, or a number of watts such as `150w`.
    COALESCE(s.power, 'default') AS power,
    -- Watts in the name of the power mode; null without a number. [W]
    TRY_CAST(NULLIF(REGEXP_EXTRACT(s.power, '^([0-9]+(\.[0-9]+)?)w$', 1), '') AS DOUBLE) AS power_w,
    -- Impossible number (`condition_fault`) of the scenario, its formats or library, which makes answers null; else null.
    COALESCE(f.fault, p.fault, l.fault, e.fault, CASE WHEN b.serves THEN w.fault END) AS fault,
    -- Impossible number that affects only the run's memory; else null.
    COALESCE(w.fault, g.fault) AS memory_fault,
    -- Possible but implausible numbers that affect time or memory; else null.
    NULLIF(
        CONCAT_WS(', ', f.implausible, p.implausible, l.implausible, e.implausible, w.implausible, g.implausible), ''
    ) AS implausible
FROM model AS m
INNER JOIN scenario AS s
    ON (m.is_batch_symbolic OR s.batch = m.default_batch)
    AND (s.sequence IS NULL OR m.is_sequence_symbolic OR s.sequence = m.default_sequence)
    AND (s.phase <> 'decode' OR m.has_context)
INNER JOIN backend AS b ON b.backend = s.backend
LEFT JOIN engine_version AS v
    ON v.backend = s.backend AND v.engine_version = COALESCE(s.engine_version, v.engine_version)
    AND (s.engine_version IS NOT NULL OR v.is_assumed)
LEFT JOIN precision AS q ON q.precision = s.kv_precision
INNER JOIN batch_class AS c ON s.batch >= c.from_batch AND COALESCE(s.batch <= c.to_batch, TRUE)
LEFT JOIN condition_faults AS f ON f.kind = 'scenario' AND f.row_key = CAST(s.scenario_id AS VARCHAR)
LEFT JOIN condition_faults AS w ON w.kind = 'backend' AND w.row_key = s.backend
LEFT JOIN condition_faults AS e ON e.kind = 'engine_version' AND e.row_key = CONCAT(v.backend, '.', v.engine_version)
LEFT JOIN format_faults AS p ON p.model = m.model AND p.policy = s.precision
LEFT JOIN library_faults AS l ON l.decides = 'processor' AND b.calls_aten
LEFT JOIN library_faults AS g ON g.decides = 'memory'
LEFT JOIN untrained_policy AS u ON u.precision = s.precision
WHERE (NOT m.is_training OR (b.trains AND u.precision IS NULL))
    AND (NOT b.serves OR m.has_context)
    AND (s.engine_version IS NULL OR v.engine_version IS NOT NULL)
