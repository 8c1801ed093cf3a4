-- Memory that a process of a backend uses on a part in addition to its tensors (`device_context`). A part and backend without a row
-- need no context.
-- Grain: hardware, backend
CREATE TABLE part_context AS
WITH ranked_rows AS (
    SELECT
        s.hardware,
        s.backend,
        s.is_counterpart,
        c.confidence,
        c.context_byte,
        c.thread_byte,
        CONCAT(c.backend, '.', c.family, '.', c.vendor) AS context_row,
        ROW_NUMBER() OVER (
            PARTITION BY s.hardware, s.backend
            ORDER BY CASE WHEN c.backend = '*' THEN 0 ELSE 1 END DESC, CASE WHEN c.vendor = '*' THEN 0 ELSE 1 END DESC
        ) AS place
    FROM supported_backend AS s
    INNER JOIN device_context AS c
        ON c.backend IN ('*', s.row_backend) AND c.family = s.family AND c.vendor IN ('*', s.vendor)
)

SELECT
    r.hardware,
    r.backend,
    -- Row of `device_context` that applies: the columns of its key, joined by points.
    r.context_row,
    -- Confidence in the row of `device_context`.
    r.confidence,
    r.is_counterpart,
    -- Size of the context, the stacks of all resident threads included; null if a number of the context is impossible, or needed
    -- and unknown. [byte]
    CASE
        WHEN f.row_key IS NULL
            THEN r.context_byte + CASE
                WHEN r.thread_byte > 0e0 THEN r.thread_byte * h.unit_thread_count * h.unit_count
                ELSE 0e0
            END
    END AS context_byte
FROM ranked_rows AS r
INNER JOIN part AS h ON h.hardware = r.hardware
LEFT JOIN (SELECT DISTINCT row_key FROM rule_fault WHERE kind = 'device_context' AND NOT is_possible) AS f
    ON f.row_key = r.context_row
WHERE r.place = 1
