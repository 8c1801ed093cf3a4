-- Operations and bytes of every kernel of a run.
-- Grain: model, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW kernel_work AS
SELECT
    k.run.model,
    k.run.backend,
    k.run.precision,
    k.run.batch,
    k.run.sequence,
    k.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    k.kernel_id,
    k.position,
    k.kernel,
    k.operator,
    k.module,
    s.kernel_class,
    -- Kind of the kernel's anchor operator; for an inserted kernel, the kernel's class.
    CASE WHEN k.kernel_id = k.fused_kernel_id THEN o.operator_kind ELSE s.kernel_class END AS kernel_kind,
    k.operator_count,
    s.macs,
    s.flops,
    s.threads,
    s.input_byte,
    s.weight_byte,
    s.kv_cache_byte,
    s.output_byte,
    s.traffic_byte,
    -- Operations per moved byte. [ops/byte]
    s.flops / NULLIF(s.traffic_byte, 0e0) AS arithmetic_intensity,
    -- Range of the number of independent threads: `<1K`, `1K-10K`, `10K-100K`, `>100K`.
    CASE
        WHEN s.threads >= 1e5 THEN '>100K'
        WHEN s.threads >= 1e4 THEN '10K-100K'
        WHEN s.threads >= 1e3 THEN '1K-10K'
        ELSE '<1K'
    END AS parallelism,
    -- Range of the arithmetic intensity in operations per byte: `<1`, `1-10`, `10-100`, `>100`.
    CASE
        WHEN s.flops >= 1e2 * s.traffic_byte AND s.traffic_byte > 0e0 THEN '>100'
        WHEN s.flops >= 1e1 * s.traffic_byte AND s.traffic_byte > 0e0 THEN '10-100'
        WHEN s.flops >= s.traffic_byte AND s.traffic_byte > 0e0 THEN '1-10'
        ELSE '<1'
    END AS intensity
FROM run_kernel AS k
INNER JOIN run AS r ON r.run = k.run
INNER JOIN shape AS s ON s.run = k.run AND s.shape_id = k.shape_id
INNER JOIN operator AS o ON o.model = k.run.model AND o.operator_id = k.anchor_operator_id
