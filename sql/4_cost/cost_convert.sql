-- Conversion of a KV cache in a format that the part does not compute in: lanes convert keys and values one by one before each
-- multiplication, once for every query head (`engine_version.convert_ops`).
-- Term: convert, exposed, cache_convert_ops, , , convert_s,
-- Grain: run, shape_id, hardware
CREATE VIEW cost_convert AS
SELECT
    p.* EXCLUDE (arithmetic),
    -- Time of the conversion on all lanes; 0 if the part computes in the format, or the arithmetic uses the format. [s]
    CASE
        WHEN p.cache_convert_ops = 0e0 OR p.family <> 'gpu' OR COALESCE(q.is_native, TRUE) THEN 0e0
        ELSE p.cache_convert_ops / NULLIF(q.unit_count * q.lanes * q.clock_hz, 0e0)
    END AS convert_s
FROM cost_library AS p
LEFT JOIN arithmetic_rate AS q
    ON q.hardware = p.hardware AND q.arithmetic = p.arithmetic AND q.compute_precision = p.kv_precision
