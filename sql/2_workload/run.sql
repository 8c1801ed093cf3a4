-- Every model under every scenario that is valid for it, with batch, sequence and context resolved. One with a backward pass
-- runs where backend and policy train, one that serves runs models with a key-value cache.
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

-- Formats of which a model has tensors or computes in under a policy.
format_faults AS (
    SELECT
        t.model,
        t.policy,
        MIN(f.fault) AS fault,
        STRING_AGG(DISTINCT f.implausible, ', ') AS implausible
    FROM condition_faults AS f
    INNER JOIN (
        SELECT model, policy, precision FROM tensor_precision
        UNION ALL
        SELECT model, policy, precision FROM operator_precision
    ) AS t ON t.precision = f.row_key
    WHERE f.kind = 'precision'
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
    -- The run: model, backend, precision policy, samples (`batch`), tokens processed a sample (`sequence`; 1 in decode, and where
    -- the model has no sequence axis) and number of its conditions (`scenario_id`).
    STRUCT_PACK(
        model := m.model, backend := s.backend, precision := s.precision, batch := s.batch,
        sequence := CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END,
        scenario_id := s.scenario_id
    ) AS run,
    c.batch_class,
    -- Tokens attended to a sample; equals the sequence outside decode.
    COALESCE(s.context, s.sequence, m.default_sequence) AS context,
    s.phase,
    -- Tokens of a sample whose logits are made: the last of them on a backend that serves, else all.
    CASE
        WHEN s.phase = 'decode' OR b.serves THEN 1
        ELSE COALESCE(s.sequence, m.default_sequence)
    END AS logit_tokens,
    -- Version of the backend; `none` where none is known.
    COALESCE(v.engine_version, 'none') AS engine_version,
    -- Format of keys and values between tokens; `none` where they are as the policy writes them.
    COALESCE(s.kv_precision, 'none') AS kv_precision,
    -- Devices that share each kernel by tensor parallel.
    COALESCE(s.device_count, 1) AS device_count,
    -- Share of the weights that lies in the host's memory and comes over the link in every step.
    COALESCE(s.weight_host_fraction, 0e0) AS weight_host_fraction,
    -- Share of the key-value cache that does.
    COALESCE(s.cache_host_fraction, 0e0) AS cache_host_fraction,
    -- Share of the inputs that does.
    COALESCE(s.input_host_fraction, 0e0) AS input_host_fraction,
    -- Bits that keys and values take between tokens; null where they are as the policy writes them.
    q.bits AS kv_bits,
    -- Chunk that a server takes in one step, over the tokens of the run: activations of a step are those of a whole chunk. 1
    -- of what is no server.
    CASE
        WHEN b.serves THEN b.chunk_tokens / NULLIF(s.batch * CASE WHEN s.phase = 'decode' THEN 1 ELSE COALESCE(s.sequence, m.default_sequence) END, 0)
        ELSE 1e0 END AS chunk_factor,
    -- Chunks in which a server takes its prompts one after the other: of as many prompts as fit, or each of a part of one; 1 of
    -- all else.
    CASE
        WHEN NOT b.serves OR s.phase = 'decode' THEN 1e0
        WHEN COALESCE(s.sequence, m.default_sequence) > b.chunk_tokens
            THEN s.batch * CEIL(COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0))
        ELSE GREATEST(1e0, CEIL(s.batch * COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0)))
    END AS chunk_count,
    -- Bits in which the backend keeps activations between kernels at least; null where they are as the policy writes them.
    b.activation_bits,
    v.paged_heads,
    v.paged_ratio,
    v.convert_ops,
    -- Rows of a product up to which the backend has kernels of its own for them, on the vector units; null without any.
    b.vector_rows,
    -- Queries that its attention takes together, skipping keys that a causal mask hides from all; null where it computes every score.
    b.causal_block,
    v.linear_vector_rows,
    -- True where its engine runs kernels of its own for several (`merged_kernel`), and all-reduces of its own.
    COALESCE(v.merges_kernels, FALSE) AS merges_kernels,
    -- True where a kernel scales the activations of each linear layer of 8 bits or fewer.
    COALESCE(v.quantizes_apart, FALSE) AS quantizes_apart,
    -- Steps in which a server takes the run.
    CASE WHEN NOT b.serves OR s.phase = 'decode' THEN 1e0
        ELSE GREATEST(1e0, CEIL(s.batch * COALESCE(s.sequence, m.default_sequence) / NULLIF(b.chunk_tokens, 0e0))) END AS engine_steps,
    -- Host time of the run by its version: that of each step and of each sample; null where none is known. [s]
    v.step_s * engine_steps + s.batch * v.sample_s AS engine_s,
    -- Time that each kernel of the run takes to launch by its version: in each step, for each sample and in a prompt. [s]
    s.host_factor * COALESCE(
        v.kernel_s * engine_steps + s.batch * v.kernel_sample_s + CASE WHEN s.phase = 'decode' THEN 0e0 ELSE v.prompt_kernel_s END, 0e0
    ) AS launch_s,
    s.memory_format,
    -- Memory format of images and convolutions unless their own strides say otherwise: the one asked for, or the one
    -- that a backend plans.
    CASE WHEN b.plans_layout THEN COALESCE(m.planned_format, s.memory_format) ELSE s.memory_format END AS run_layout,
    s.host_factor,
    s.cache_state,
    -- Power mode: `default`, the name of one of the part's, or a number of watts as in `150w`.
    COALESCE(s.power, 'default') AS power,
    -- Watts that the name says; null where it says none. [W]
    TRY_CAST(NULLIF(REGEXP_EXTRACT(s.power, '^([0-9]+(\.[0-9]+)?)w$', 1), '') AS DOUBLE) AS power_w,
    -- A number of the scenario, of a format that the model has or of the library it calls that cannot be (`condition_fault`),
    -- for which there is no answer; null where there is none.
    COALESCE(f.fault, p.fault, l.fault, e.fault, CASE WHEN b.serves THEN w.fault END) AS fault,
    -- A number that what the run holds in memory rests on besides, and that cannot be; null where there is none.
    COALESCE(w.fault, g.fault) AS memory_fault,
    -- Numbers of both that may be, though they hardly are; null where there are none.
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
LEFT JOIN condition_faults AS e
    ON e.kind = 'engine_version' AND e.row_key = CONCAT(v.backend, '.', v.engine_version)
LEFT JOIN format_faults AS p ON p.model = m.model AND p.policy = s.precision
LEFT JOIN library_faults AS l ON l.decides = 'processor' AND b.calls_aten
LEFT JOIN library_faults AS g ON g.decides = 'memory'
LEFT JOIN untrained_policy AS u ON u.precision = s.precision
WHERE (NOT m.is_training OR (b.trains AND u.precision IS NULL))
    AND (NOT b.serves OR m.has_context)
    AND (s.engine_version IS NULL OR v.engine_version IS NOT NULL)
