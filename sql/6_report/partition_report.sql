-- Kernels of a run, counted by class, by kind of anchor operator, by independent threads and by arithmetic intensity, and all
-- operators of the run, counted by kind, including operators in fused kernels and chains.
-- Grain: model, backend, precision, batch, sequence, scenario_id, aspect, bucket
CREATE VIEW partition_report AS
WITH aspects AS (
    SELECT 'class' AS aspect
    UNION ALL
    SELECT 'kind' AS aspect
    UNION ALL
    SELECT 'threads' AS aspect
    UNION ALL
    SELECT 'intensity' AS aspect
),

bucketed_kernels AS (
    SELECT
        k.*,
        a.aspect,
        CASE a.aspect
            WHEN 'class' THEN k.kernel_class
            WHEN 'kind' THEN k.kernel_kind
            WHEN 'threads' THEN k.parallelism
            ELSE CONCAT(k.intensity, ' ops/byte')
        END AS bucket,
        CASE
            WHEN a.aspect IN ('class', 'kind') THEN 0
            WHEN a.aspect = 'threads'
                THEN CASE k.parallelism WHEN '<1K' THEN 1 WHEN '1K-10K' THEN 2 WHEN '10K-100K' THEN 3 ELSE 4 END
            ELSE CASE k.intensity WHEN '<1' THEN 1 WHEN '1-10' THEN 2 WHEN '10-100' THEN 3 ELSE 4 END
        END AS bucket_order
    FROM kernel_work AS k
    CROSS JOIN aspects AS a
),

bucket_sums AS (
    SELECT
        model,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        context,
        phase,
        memory_format,
        aspect,
        bucket,
        bucket_order,
        COUNT(*) AS kernel_count,
        SUM(operator_count) AS operator_count,
        SUM(flops) AS flops,
        SUM(traffic_byte) AS traffic_byte
    FROM bucketed_kernels
    GROUP BY
        model, backend, precision, batch, sequence, scenario_id, context, phase, memory_format, aspect, bucket, bucket_order
),

operator_sums AS (
    SELECT model, batch, sequence, context, logit_tokens, chunk_count, operator_id, SUM(flops) AS flops
    FROM step_size
    GROUP BY model, batch, sequence, context, logit_tokens, chunk_count, operator_id
),

operator_bytes AS (
    SELECT run, operator_id, SUM(moved_byte) AS traffic_byte
    FROM border_byte
    WHERE backend = 'eager'
    GROUP BY run, operator_id
),

kind_sums AS (
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
        'operators' AS aspect,
        o.operator_kind AS bucket,
        0 AS bucket_order,
        COUNT(DISTINCT k.kernel_id) AS kernel_count,
        COUNT(*) AS operator_count,
        SUM(COALESCE(s.flops, 0e0)) AS flops,
        SUM(COALESCE(b.traffic_byte, 0e0)) AS traffic_byte
    FROM run AS r
    INNER JOIN kernel_operator AS k ON k.model = r.run.model AND k.backend = r.run.backend
    INNER JOIN operator AS o ON o.model = k.model AND o.operator_id = k.operator_id
    LEFT JOIN operator_sums AS s
        ON s.model = r.run.model AND s.batch = r.run.batch AND s.sequence = r.run.sequence AND s.context = r.context
        AND s.logit_tokens = r.logit_tokens AND s.chunk_count = r.chunk_count AND s.operator_id = k.operator_id
    LEFT JOIN operator_bytes AS b ON b.run = r.run AND b.operator_id = k.operator_id
    WHERE NOT k.is_folded AND NOT o.is_view
    GROUP BY r.run, r.context, r.phase, r.memory_format, o.operator_kind
),

all_sums AS (
    SELECT * FROM bucket_sums
    UNION ALL
    SELECT * FROM kind_sums
),

shares AS (
    SELECT
        *,
        SUM(flops) OVER (PARTITION BY model, backend, precision, batch, sequence, scenario_id, aspect) AS all_flops,
        SUM(traffic_byte) OVER (PARTITION BY model, backend, precision, batch, sequence, scenario_id, aspect)
            AS all_traffic_byte
    FROM all_sums
)

SELECT
    model,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    context,
    phase,
    memory_format,
    -- Property by which rows are grouped: `class`, `kind` (of the anchor operator), `threads` or `intensity` of kernels, or
    -- `operators`, which groups all operators by kind.
    aspect,
    -- Group within the aspect, e.g. `conv`, `pointwise_conv`, `squeeze_excite`, `1K-10K`, `10-100 ops/byte`.
    bucket,
    -- Order of the groups within the aspect.
    CAST(bucket_order AS BIGINT) AS bucket_order,
    -- Number of kernels in the group; under `operators`, number of kernels that contain an operator of the kind.
    CAST(kernel_count AS BIGINT) AS kernel_count,
    -- Number of operators in these kernels; under `operators`, number of operators of the kind, without views and folded operators.
    CAST(operator_count AS BIGINT) AS operator_count,
    -- Number of operations of the group.
    flops,
    -- Share of the run's operations.
    flops / NULLIF(all_flops, 0e0) AS flops_fraction,
    -- Bytes that cross kernel borders; under `operators`, bytes that the operators read and write, also within a kernel or chain. [byte]
    traffic_byte,
    -- Share of the traffic of all groups of the aspect.
    traffic_byte / NULLIF(all_traffic_byte, 0e0) AS traffic_fraction
FROM shares
