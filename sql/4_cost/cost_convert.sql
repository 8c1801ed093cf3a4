-- Keys and values in a format that a part does not compute in: lanes convert them one by one before they are multiplied, again for
-- every head of queries (`engine_version.convert_ops`).
-- Term: convert, exposed, cache_convert_ops, , , convert_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_convert AS
SELECT
    p.* EXCLUDE (arithmetic),
    -- Time of the conversion on all lanes; 0 where the part computes in the format, or the arithmetic uses it. [s]
    CASE
        WHEN p.cache_convert_ops = 0e0 OR p.family <> 'gpu' OR COALESCE(q.is_native, TRUE) THEN 0e0
        ELSE p.cache_convert_ops / NULLIF(q.unit_count * q.lanes * q.clock_hz, 0e0)
    END AS convert_s
FROM cost_library AS p
LEFT JOIN arithmetic_rate AS q
    ON q.hardware = p.hardware AND q.arithmetic = p.arithmetic AND q.compute_precision = p.kv_precision
