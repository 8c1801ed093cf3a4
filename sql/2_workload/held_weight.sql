-- Weights that a kernel of a run needs in memory, even if the kernel reads only some of them.
-- Grain: run, kernel_id
CREATE VIEW held_weight AS
WITH read_weights AS (
    -- A view of a weight is trained if the weight is.
    SELECT r.model, r.backend, r.precision, k.kernel_id, k.tensor_id, p.bits, s.is_trained
    FROM (SELECT DISTINCT run.model, run.backend, run.precision FROM run) AS r
    INNER JOIN kernel_tensor AS k
        ON k.model = r.model AND k.backend = r.backend AND k.role = 'weight' AND k.direction = 'read'
    INNER JOIN tensor_precision AS t ON t.model = r.model AND t.policy = r.precision AND t.tensor_id = k.tensor_id
    INNER JOIN precision AS p ON p.precision = t.precision
    INNER JOIN tensor AS w ON w.model = k.model AND w.tensor_id = k.tensor_id
    INNER JOIN tensor AS s ON s.model = w.model AND s.tensor_id = w.storage_tensor_id
),

-- The engine makes this table first, because the weights of many models joined to all sizes of their tensors do not fit in memory.
run_weights AS MATERIALIZED (
    SELECT r.run, r.context, r.logit_tokens, r.chunk_count, w.kernel_id, w.tensor_id, w.bits, w.is_trained
    FROM run AS r
    INNER JOIN read_weights AS w ON w.model = r.run.model AND w.backend = r.run.backend AND w.precision = r.run.precision
)

SELECT
    w.run,
    w.kernel_id,
    -- Size of the weights. [byte]
    SUM(z.elements * w.bits / 8e0) AS held_byte,
    -- Size of the weights that a training step updates. [byte]
    SUM(CASE WHEN w.is_trained THEN z.elements * w.bits / 8e0 ELSE 0e0 END) AS trained_byte
FROM run_weights AS w
INNER JOIN tensor_size AS z
    ON z.model = w.run.model AND z.batch = w.run.batch AND z.sequence = w.run.sequence AND z.context = w.context
    AND z.logit_tokens = w.logit_tokens AND z.chunk_count = w.chunk_count AND z.tensor_id = w.tensor_id
GROUP BY w.run, w.kernel_id
