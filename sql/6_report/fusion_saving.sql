-- Which fusions save most: the main memory traffic each fused kernel avoids against its operators run one by one,
-- and the least time that traffic takes on a part.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
CREATE VIEW fusion_saving AS
WITH unfused_sums AS (
    SELECT
        r.model,
        r.backend,
        r.precision,
        r.batch,
        r.sequence,
        r.scenario_id,
        k.kernel_id,
        SUM(b.moved_byte) AS unfused_byte
    FROM run AS r
    INNER JOIN border_byte AS b ON b.model = r.model AND b.scenario_id = r.scenario_id AND b.backend = 'eager'
    INNER JOIN kernel_operator AS k
        ON k.model = r.model AND k.backend = r.backend AND k.operator_id = b.operator_id
    WHERE r.backend <> 'eager'
    GROUP BY r.model, r.backend, r.precision, r.batch, r.sequence, r.scenario_id, k.kernel_id
)

SELECT
    w.model,
    t.hardware,
    w.backend,
    w.precision,
    w.batch,
    w.sequence,
    w.scenario_id,
    w.context,
    w.phase,
    w.memory_format,
    w.kernel_id,
    w.kernel,
    w.operator_count,
    -- Bytes its operators move one by one. [byte]
    b.unfused_byte,
    -- Bytes it moves. [byte]
    w.traffic_byte AS fused_byte,
    -- What fusion saves. [byte]
    b.unfused_byte - w.traffic_byte AS saved_byte,
    -- Time main memory takes for the saved bytes at its peak bandwidth. [s]
    (b.unfused_byte - w.traffic_byte) / NULLIF(t.dram_byte_per_s, 0e0) AS saved_memory_s,
    -- Kernel launches saved.
    w.operator_count - 1 AS saved_launch_count
FROM unfused_sums AS b
INNER JOIN kernel_work AS w
    ON w.model = b.model AND w.backend = b.backend AND w.precision = b.precision AND w.batch = b.batch
    AND w.sequence = b.sequence AND w.scenario_id = b.scenario_id AND w.kernel_id = b.kernel_id
INNER JOIN part_support AS t ON t.backend = w.backend AND t.precision = w.precision
WHERE w.operator_count > 1
