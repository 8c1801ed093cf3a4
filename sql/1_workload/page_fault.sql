-- Memory that the system hands PyTorch on a processor anew in every run, page by page: blocks of 32 MiB and more, which
-- glibc's malloc maps each time (`DEFAULT_MMAP_THRESHOLD_MAX`, mallopt(3)), and of the others the share by which the
-- heap grows because it was given back in the run before (`heap_growth`).
-- Grain: model_id, scenario_id, subgraph_id
CREATE VIEW page_fault (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Kernel that allocates.
    subgraph_id,
    -- Results and scratch memory that it allocates. [byte]
    allocated_byte,
    -- Fresh pages for them. [byte]
    fault_byte
) AS
WITH heap_growths AS (
    SELECT r.model_id, r.scenario_id, MAX_BY(g.growth_fraction, g.batch) AS growth_fraction
    FROM run AS r
    INNER JOIN heap_growth AS g ON g.model_id = r.model_id AND g.backend = r.backend AND g.batch <= r.batch
    GROUP BY r.model_id, r.scenario_id
),

memory_blocks AS (
    SELECT model_id, scenario_id, MIN(first_subgraph_id) AS subgraph_id, MAX(held_byte) AS held_byte
    FROM storage_byte
    WHERE first_subgraph_id >= 0
    GROUP BY model_id, scenario_id, block_tensor_id, is_copy, precision
    UNION ALL
    SELECT model_id, scenario_id, subgraph_id, scratch_byte AS held_byte FROM convolution_call
    UNION ALL
    -- Those of one size share a block; what the heap grows for smaller ones is in its share of the others.
    SELECT model_id, scenario_id, MIN(subgraph_id) AS subgraph_id, channels_last_byte AS held_byte
    FROM convolution_call
    WHERE channels_last_byte >= 33554432e0
    GROUP BY model_id, scenario_id, channels_last_byte
)

SELECT
    b.model_id,
    b.scenario_id,
    b.subgraph_id,
    SUM(b.held_byte) AS allocated_byte,
    SUM(CASE WHEN b.held_byte < 33554432e0 THEN b.held_byte * g.growth_fraction ELSE b.held_byte END) AS fault_byte
FROM memory_blocks AS b
INNER JOIN heap_growths AS g ON g.model_id = b.model_id AND g.scenario_id = b.scenario_id
GROUP BY b.model_id, b.scenario_id, b.subgraph_id
