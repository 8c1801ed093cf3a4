-- Bytes of every tensor that crosses a kernel's border in a run, at the element sizes of the run's policy, under its backend's
-- partition and under the unfused one of `eager` for comparison. A tensor counts once per kernel, or only the part that an operator
-- moves (`access_term`), never more than the tensor. If n independent draws each take a share f of a tensor, as n tokens do of the
-- experts, `met_share` is the expected share.
-- Grain: run, kernel_id, tensor_id, direction
CREATE VIEW border_byte AS
WITH planned_tensors AS (
    SELECT
        r.model,
        r.backend AS run_backend,
        r.precision,
        st.backend,
        st.kernel_id,
        st.tensor_id,
        st.direction,
        st.role,
        st.operator_id,
        st.is_produced,
        st.role = 'kv_cache' AND (o.tensor_id IS NULL OR o.producer_operator_id IS NOT NULL) AS is_of_tokens,
        p.bits,
        CASE WHEN st.is_wide THEN GREATEST(p.bits, 32) ELSE p.bits END AS stored_bits
    FROM (SELECT DISTINCT run.model, run.backend, run.precision FROM run) AS r
    INNER JOIN kernel_tensor AS st ON st.model = r.model AND st.backend IN (r.backend, 'eager')
    INNER JOIN tensor_precision AS tp
        ON tp.model = r.model AND tp.policy = r.precision AND tp.tensor_id = st.tensor_id
    LEFT JOIN read_precision AS rp
        ON rp.model = r.model AND rp.policy = r.precision
        AND rp.operator_id = st.operator_id AND rp.tensor_id = st.tensor_id AND st.direction = 'read'
    INNER JOIN precision AS p ON p.precision = COALESCE(rp.precision, tp.precision)
    LEFT JOIN tensor AS t ON t.model = st.model AND t.tensor_id = st.tensor_id
    -- A recurrent state is an input of the run and is read through views.
    LEFT JOIN tensor AS o ON o.model = t.model AND o.tensor_id = t.storage_tensor_id
),

moved_elements AS (
    SELECT
        r.model,
        r.batch,
        r.sequence,
        r.context,
        r.logit_tokens,
        r.chunk_count,
        a.operator_id,
        a.tensor_id,
        MAX(a.draw_fraction) AS draw_fraction,
        COALESCE(MAX(k.skew), 0e0) AS skew,
        SUM(
            r.chunk_count * chunk_amount(
                a.coefficient, r.batch, r.sequence, r.context, r.logit_tokens, r.pieces, r.chunk_count, a.batch_power,
                a.sequence_power, a.context_power, a.context_limit, a.logit_power
            )
        ) AS elements
    FROM (
        SELECT DISTINCT
            run.model, run.batch, run.sequence, context, logit_tokens, chunk_count, prompt_pieces(run.batch, chunk_count) AS pieces
        FROM run
    ) AS r
    INNER JOIN access_term AS a ON a.model = r.model
    LEFT JOIN model AS m ON m.model = r.model
    LEFT JOIN expert_skew AS k ON k.architecture_family = m.architecture_family
    GROUP BY r.model, r.batch, r.sequence, r.context, r.logit_tokens, r.chunk_count, a.operator_id, a.tensor_id
),

moved_tensors AS (
    SELECT
        r.run,
        st.run_backend,
        st.backend,
        st.kernel_id,
        st.tensor_id,
        st.direction,
        st.role,
        st.operator_id,
        st.is_produced,
        CASE
            WHEN me.draw_fraction IS NULL THEN LEAST(COALESCE(me.elements, z.chunk_elements), z.chunk_elements)
            -- Values are rounded to multiples of 1/1024, so that sums do not depend on the order and equal kernels have equal
            -- shapes.
            ELSE ROUND(
                z.chunk_elements
                * met_share(me.draw_fraction, me.elements / NULLIF(z.chunk_elements * me.draw_fraction, 0e0), me.skew) * 1024e0
            ) / 1024e0
        END AS elements,
        CASE
            WHEN st.is_of_tokens THEN COALESCE(r.kv_bits, st.bits)
            WHEN st.role IN ('input', 'output') THEN GREATEST(st.bits, COALESCE(r.activation_bits, st.bits))
            ELSE st.bits
        END AS bits,
        CASE
            WHEN st.is_of_tokens THEN COALESCE(r.kv_bits, st.stored_bits)
            WHEN st.role IN ('input', 'output') THEN GREATEST(st.stored_bits, COALESCE(r.activation_bits, st.stored_bits))
            ELSE st.stored_bits
        END AS stored_bits
    FROM run AS r
    INNER JOIN planned_tensors AS st
        ON st.model = r.run.model AND st.run_backend = r.run.backend AND st.precision = r.run.precision
    INNER JOIN tensor_size AS z
        ON z.model = r.run.model AND z.batch = r.run.batch AND z.sequence = r.run.sequence AND z.context = r.context
        AND z.logit_tokens = r.logit_tokens AND z.chunk_count = r.chunk_count AND z.tensor_id = st.tensor_id
    LEFT JOIN moved_elements AS me
        ON me.model = r.run.model AND me.batch = r.run.batch AND me.sequence = r.run.sequence AND me.context = r.context
        AND me.logit_tokens = r.logit_tokens AND me.chunk_count = r.chunk_count
        AND me.operator_id = st.operator_id AND me.tensor_id = st.tensor_id
)

SELECT
    run,
    -- Backend of the run.
    run_backend,
    backend,
    kernel_id,
    tensor_id,
    -- Direction of the transfer: `read` or `write`.
    direction,
    -- Role of the tensor: `input`, `weight`, `kv_cache` or `output`.
    role,
    operator_id,
    -- True if an earlier kernel of the run wrote the tensor.
    is_produced,
    -- Bytes that the kernel reads or writes. [byte]
    elements * stored_bits / 8e0 AS moved_byte,
    -- Bytes that the kernel would read or write if every tensor were stored in the element type of the policy
    -- (`kernel_tensor.is_wide`). [byte]
    elements * bits / 8e0 AS own_byte
FROM moved_tensors
