-- Bytes that would cross if a run were cut after each of its kernels: results of this kernel and earlier
-- ones that later kernels read. Views of one storage count once, model inputs and weights not at all.
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW cut_byte (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel after which the cut lies.
    subgraph_id,
    -- Bytes that cross. [byte]
    crossing_byte
) AS
WITH crossing_storages AS (
    SELECT
        b.model_id,
        b.scenario_id,
        t.storage_tensor_id,
        MIN(CASE WHEN b.direction = 'write' THEN b.subgraph_id END) AS first_subgraph_id,
        MAX(CASE WHEN b.direction = 'read' THEN b.subgraph_id END) AS last_subgraph_id,
        MAX(CASE WHEN b.direction = 'write' THEN b.moved_byte END) AS moved_byte
    FROM border_byte AS b
    INNER JOIN run AS r
        ON r.model_id = b.model_id AND r.scenario_id = b.scenario_id AND r.backend = b.backend
    INNER JOIN tensor AS t ON t.model_id = b.model_id AND t.tensor_id = b.tensor_id
    WHERE b.direction = 'write' OR b.is_produced
    GROUP BY b.model_id, b.scenario_id, t.storage_tensor_id
),

signs AS (
    SELECT 1e0 AS sign
    UNION ALL
    SELECT -1e0 AS sign
),

changes AS (
    SELECT
        c.model_id,
        c.scenario_id,
        CASE WHEN g.sign > 0e0 THEN c.first_subgraph_id ELSE c.last_subgraph_id END AS subgraph_id,
        g.sign * c.moved_byte AS moved_byte
    FROM crossing_storages AS c
    CROSS JOIN signs AS g
    WHERE c.last_subgraph_id > c.first_subgraph_id
    UNION ALL
    SELECT
        r.model_id,
        r.scenario_id,
        k.subgraph_id,
        0e0 AS moved_byte
    FROM run AS r
    INNER JOIN subgraph AS k ON k.model_id = r.model_id AND k.backend = r.backend
),

changes_by_kernel AS (
    SELECT model_id, scenario_id, subgraph_id, SUM(moved_byte) AS moved_byte
    FROM changes
    GROUP BY model_id, scenario_id, subgraph_id
)

SELECT
    model_id,
    scenario_id,
    subgraph_id,
    SUM(moved_byte) OVER (
        PARTITION BY model_id, scenario_id ORDER BY subgraph_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS crossing_byte
FROM changes_by_kernel
