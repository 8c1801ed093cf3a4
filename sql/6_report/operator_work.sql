-- Operations and bytes of every operator as an unfused kernel.
-- Grain: model, backend, precision, batch, sequence, scenario_id, operator_id
CREATE VIEW operator_work AS
WITH operator_sums AS (
    SELECT
        model,
        batch,
        sequence,
        context,
        logit_tokens,
        chunk_count,
        operator_id,
        SUM(macs) AS macs,
        SUM(flops) AS flops,
        MAX(threads) AS threads
    FROM step_size
    GROUP BY model, batch, sequence, context, logit_tokens, chunk_count, operator_id
),

unfused_bytes AS (
    SELECT
        run,
        operator_id,
        SUM(CASE WHEN direction = 'read' AND role = 'input' THEN moved_byte ELSE 0e0 END) AS input_byte,
        SUM(CASE WHEN direction = 'read' AND role = 'weight' THEN moved_byte ELSE 0e0 END) AS weight_byte,
        SUM(CASE WHEN direction = 'read' AND role = 'kv_cache' THEN moved_byte ELSE 0e0 END) AS kv_cache_byte,
        SUM(CASE WHEN direction = 'write' THEN moved_byte ELSE 0e0 END) AS output_byte
    FROM border_byte
    WHERE backend = 'eager'
    GROUP BY run, operator_id
)

SELECT
    r.run.model,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    o.operator_id,
    o.operator,
    o.operator_class,
    -- Dotted path of the operator's module.
    m.path AS module,
    -- Element type that the operator computes in.
    p.precision AS compute_precision,
    -- Number of multiply-accumulates.
    COALESCE(s.macs, 0e0) AS macs,
    -- Number of operations: two per multiply-accumulate plus all other arithmetic.
    COALESCE(s.flops, 0e0) AS flops,
    -- Number of independent output elements.
    COALESCE(s.threads, 0e0) AS threads,
    -- Bytes of activations and model inputs read. [byte]
    COALESCE(b.input_byte, 0e0) AS input_byte,
    -- Bytes of weights, buffers and constants read. [byte]
    COALESCE(b.weight_byte, 0e0) AS weight_byte,
    -- Bytes of the KV cache read. [byte]
    COALESCE(b.kv_cache_byte, 0e0) AS kv_cache_byte,
    -- Bytes of results written. [byte]
    COALESCE(b.output_byte, 0e0) AS output_byte,
    -- Operations per moved byte. [ops/byte]
    s.flops / NULLIF(b.input_byte + b.weight_byte + b.kv_cache_byte + b.output_byte, 0e0) AS arithmetic_intensity
FROM run AS r
INNER JOIN operator AS o ON o.model = r.run.model
INNER JOIN module AS m ON m.model = o.model AND m.module_id = o.module_id
INNER JOIN operator_precision AS p ON p.model = r.run.model AND p.policy = r.run.precision AND p.operator_id = o.operator_id
LEFT JOIN operator_sums AS s
    ON s.model = r.run.model AND s.batch = r.run.batch AND s.sequence = r.run.sequence AND s.context = r.context
    AND s.logit_tokens = r.logit_tokens AND s.chunk_count = r.chunk_count AND s.operator_id = o.operator_id
LEFT JOIN unfused_bytes AS b ON b.run = r.run AND b.operator_id = o.operator_id
