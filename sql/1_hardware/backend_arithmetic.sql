-- Properties of each backend that decide which peaks and tiles of a part it uses. Backends with equal properties share rates and
-- tiles.
-- Grain: hardware, backend
CREATE VIEW backend_arithmetic AS
WITH hybrid_parts AS (
    SELECT DISTINCT hardware
    FROM hardware_cluster
    WHERE cluster = 'e_core'
)

SELECT
    s.hardware,
    s.backend,
    s.calls_library,
    s.sums_in_half,
    s.packed_precision,
    -- Largest number of efficient cores per performance core at which the backend leaves the efficient cores out; null if it uses all
    -- cores, and on parts without efficient cores.
    CASE WHEN e.hardware IS NOT NULL THEN s.efficient_core_ratio END AS left_out_ratio,
    -- True if PyTorch divides attention into blocks of queries (`tile_query_block`).
    COALESCE(b.calls_aten, FALSE) AND s.family = 'cpu' AS cuts_queries,
    -- Names of the properties that the backend has, joined by spaces; `plain` if the backend has none. Backends of a part with the
    -- same value share rates and tiles.
    COALESCE(NULLIF(CONCAT_WS(
        ' ', CASE WHEN s.calls_library THEN 'library' END, CASE WHEN s.sums_in_half THEN 'half' END,
        CASE WHEN b.calls_aten AND s.family = 'cpu' THEN 'queries' END, s.packed_precision,
        CASE WHEN left_out_ratio IS NOT NULL THEN CONCAT('performance', left_out_ratio) END
    ), ''), 'plain') AS arithmetic
FROM supported_backend AS s
LEFT JOIN backend AS b ON b.backend = s.backend
LEFT JOIN hybrid_parts AS e ON e.hardware = s.hardware
