-- Bytes of every tensor that crosses a kernel's border in a run, under every backend's partition, at the
-- element sizes of the run's policy. A tensor counts once a kernel; where an operator moves only part of
-- it, that part (access_term), never more than the tensor: a row gathered twice is read once. Of shares f that n
-- independent draws take of it, such as the experts of n tokens, 1 - (1 - f)^n is expected to move.
-- Grain: model_id, scenario_id, backend, subgraph_id, tensor_id, direction
CREATE VIEW border_byte (
    -- Model.
    model_id,
    -- Scenario, for its sizes and precision.
    scenario_id,
    -- Backend of the partition; the scenario's own or another, for comparison.
    backend,
    -- Kernel.
    subgraph_id,
    -- Tensor.
    tensor_id,
    -- `read` or `write`.
    direction,
    -- `input`, `weight`, `kv_cache` or `output`.
    role,
    -- Operator that reads it first or writes it.
    operator_id,
    -- True when an earlier kernel of the run wrote it.
    is_produced,
    -- Bytes moved. [byte]
    moved_byte
) AS
WITH moved_elements AS (
    SELECT
        r.model_id,
        r.scenario_id,
        a.operator_id,
        a.tensor_id,
        MAX(a.draw_fraction) AS draw_fraction,
        SUM(
            a.coefficient
            * POWER(r.batch, a.batch_power) * POWER(r.sequence, a.sequence_power) * POWER(r.context, a.context_power)
        ) AS elements
    FROM run AS r
    INNER JOIN access_term AS a ON a.model_id = r.model_id
    GROUP BY r.model_id, r.scenario_id, a.operator_id, a.tensor_id
)

SELECT
    r.model_id,
    r.scenario_id,
    st.backend,
    st.subgraph_id,
    st.tensor_id,
    st.direction,
    st.role,
    st.operator_id,
    st.is_produced,
    CASE
        WHEN me.draw_fraction IS NULL THEN LEAST(COALESCE(me.elements, z.elements), z.elements)
        ELSE z.elements * (1e0 - POWER(1e0 - me.draw_fraction, me.elements / NULLIF(z.elements * me.draw_fraction, 0e0)))
    END
    * CASE WHEN st.is_wide THEN GREATEST(p.bits, 32) ELSE p.bits END / 8e0 AS moved_byte
FROM run AS r
INNER JOIN subgraph_tensor AS st ON st.model_id = r.model_id
INNER JOIN tensor_size AS z
    ON z.model_id = r.model_id AND z.scenario_id = r.scenario_id AND z.tensor_id = st.tensor_id
INNER JOIN tensor_precision AS tp
    ON tp.model_id = r.model_id AND tp.policy = r.policy AND tp.tensor_id = st.tensor_id
LEFT JOIN read_precision AS rp
    ON rp.model_id = r.model_id AND rp.policy = r.policy
    AND rp.operator_id = st.operator_id AND rp.tensor_id = st.tensor_id AND st.direction = 'read'
INNER JOIN precision AS p ON p.precision = COALESCE(rp.precision, tp.precision)
LEFT JOIN moved_elements AS me
    ON me.model_id = r.model_id AND me.scenario_id = r.scenario_id
    AND me.operator_id = st.operator_id AND me.tensor_id = st.tensor_id
