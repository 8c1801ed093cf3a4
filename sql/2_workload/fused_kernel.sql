-- The kernels that a backend makes of a run's operators, with what they move.
-- Grain: run, insertion_id
CREATE VIEW fused_kernel AS
SELECT
    r.run,
    -- Fused kernel that it is, or is made for.
    k.kernel_id,
    -- Kind of insertion, by which inserted kernels are numbered; 0 for a fused kernel.
    CAST(0 AS BIGINT) AS insertion,
    -- Number within the kind.
    k.kernel_id AS insertion_id,
    -- Place in the order of issue, between those of the fused kernels.
    CAST(k.kernel_id AS DOUBLE) AS issue_place,
    -- Readable name: the operator classes it fuses.
    k.kernel,
    -- Class of its anchor operator.
    k.kernel_class,
    -- Operator that gives it its character.
    k.anchor_operator_id,
    -- ATen operator of its anchor, of an attention that reads a mask with `_masked` behind it: libraries take other kernels for it;
    -- `*` in conversions and biases.
    CONCAT(
        SPLIT_PART(o.aten_operator, '.', 1), '.', SPLIT_PART(o.aten_operator, '.', 2),
        CASE WHEN e.position IS NOT NULL THEN '_masked' ELSE '' END
    ) AS operator_name,
    -- Element type its anchor is asked to compute in.
    op.precision AS compute_precision,
    -- Memory layout of its anchor's tensors: `nchw`, `nhwc` or `strided`.
    CASE WHEN l.layout <> 'view' THEN l.layout ELSE r.run_layout END AS layout,
    -- Operators it executes.
    k.operator_count,
    -- Views the host dispatches before it.
    k.view_count,
    -- Activations and model inputs read. [byte]
    COALESCE(t.input_byte, 0e0) AS input_byte,
    -- Weights, buffers and constants read. [byte]
    COALESCE(t.weight_byte, 0e0) AS weight_byte,
    -- KV-cache read. [byte]
    COALESCE(t.kv_cache_byte, 0e0) AS kv_cache_byte,
    -- Results written. [byte]
    COALESCE(t.output_byte, 0e0) AS output_byte,
    -- Part of the reads that an earlier kernel of the run wrote. [byte]
    COALESCE(t.produced_byte, 0e0) AS produced_byte,
    -- Largest of what it reads and writes but weights: what its loop goes over. [byte]
    COALESCE(t.largest_byte, 0e0) AS loop_byte
FROM run AS r
INNER JOIN backend AS b ON b.backend = r.run.backend
INNER JOIN kernel AS k ON k.model = r.run.model AND k.backend = r.run.backend
INNER JOIN operator AS o ON o.model = r.run.model AND o.operator_id = k.anchor_operator_id
INNER JOIN operator_precision AS op
    ON op.model = r.run.model AND op.policy = r.run.precision AND op.operator_id = k.anchor_operator_id
-- Queries, keys and values come before the mask.
LEFT JOIN edge AS e
    ON e.model = r.run.model AND e.consumer_operator_id = k.anchor_operator_id AND e.position = 3 AND k.kernel_class = 'attention'
LEFT JOIN operator_layout AS l
    ON l.model = r.run.model AND l.memory_format = r.memory_format AND l.operator_id = k.anchor_operator_id AND b.follows_strides
-- An operator that turns out to be a view moves no bytes.
LEFT JOIN kernel_traffic AS t ON t.run = r.run AND t.kernel_id = k.kernel_id AND l.layout IS DISTINCT FROM 'view'
