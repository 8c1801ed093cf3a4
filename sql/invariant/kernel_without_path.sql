-- Every kernel of every backend lies on at least one path, or the critical path would miss it.
-- Grain: model_id, backend, subgraph_id
CREATE VIEW kernel_without_path (
    -- Model.
    model_id,
    -- Backend.
    backend,
    -- Kernel.
    subgraph_id
) AS
SELECT s.model_id, s.backend, s.subgraph_id
FROM subgraph AS s
LEFT JOIN path_segment AS p
    ON p.model_id = s.model_id AND p.backend = s.backend AND p.subgraph_id = s.subgraph_id
WHERE p.subgraph_id IS NULL
