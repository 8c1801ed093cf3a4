-- Kernels of a backend that are on no path of the graph, so that the critical path would miss them.
-- Grain: model, backend, kernel_id
CREATE VIEW kernel_without_path AS
SELECT
    s.model,
    s.backend,
    s.kernel_id
FROM kernel AS s
LEFT JOIN path_segment AS p
    ON p.model = s.model AND p.backend = s.backend AND p.kernel_id = s.kernel_id
WHERE p.kernel_id IS NULL
