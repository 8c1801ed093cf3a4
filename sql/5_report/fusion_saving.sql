-- Which fusions save most: the DRAM traffic each fused kernel avoids against its operators run one by one,
-- and the least time that traffic takes on a part.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW fusion_saving (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Operators it fuses.
    subgraph,
    -- How many they are.
    operator_count,
    -- Bytes its operators move one by one. [byte]
    unfused_byte,
    -- Bytes it moves. [byte]
    fused_byte,
    -- What fusion saves. [byte]
    saved_byte,
    -- Time main memory takes for the saved bytes at its peak bandwidth. [s]
    saved_memory_s,
    -- Kernel launches saved.
    saved_launch_count
) AS
WITH border_sums AS (
    SELECT
        b.model_id,
        b.scenario_id,
        so.subgraph_id,
        SUM(CASE WHEN b.backend = r.backend THEN b.moved_byte ELSE 0e0 END) AS fused_byte,
        SUM(CASE WHEN b.backend = 'eager' THEN b.moved_byte ELSE 0e0 END) AS unfused_byte
    FROM border_byte AS b
    INNER JOIN run AS r ON r.model_id = b.model_id AND r.scenario_id = b.scenario_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = b.model_id AND so.backend = r.backend AND so.operator_id = b.operator_id
    WHERE b.backend IN ('eager', r.backend) AND r.backend <> 'eager'
    GROUP BY b.model_id, b.scenario_id, so.subgraph_id
)

SELECT
    l.model,
    t.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.model_id,
    l.scenario_id,
    t.hardware_id,
    b.subgraph_id,
    s.subgraph,
    s.operator_count,
    b.unfused_byte,
    b.fused_byte,
    b.unfused_byte - b.fused_byte AS saved_byte,
    (b.unfused_byte - b.fused_byte) / NULLIF(u.dram_byte_per_s, 0e0) AS saved_memory_s,
    s.operator_count - 1 AS saved_launch_count
FROM border_sums AS b
INNER JOIN run_label AS l ON l.model_id = b.model_id AND l.scenario_id = b.scenario_id
INNER JOIN subgraph AS s
    ON s.model_id = b.model_id AND s.backend = l.backend AND s.subgraph_id = b.subgraph_id
INNER JOIN target AS t ON t.model_id = b.model_id AND t.scenario_id = b.scenario_id
INNER JOIN hardware_unit AS u ON u.hardware_id = t.hardware_id
WHERE s.operator_count > 1
