-- Parts of the catalog with their peaks, main memory and power. Key: hardware.
-- Grain: hardware
CREATE VIEW parts AS
WITH faulty_parts AS (
    SELECT subject AS hardware, MIN(field) AS fault
    FROM faulty_answer
    GROUP BY subject
)

SELECT
    l.hardware,
    l.name,
    h.vendor,
    l.family,
    h.market,
    h.architecture,
    h.year,
    h.process_nm,
    l.fp32_ops_per_s,
    l.half_ops_per_s,
    l.int8_ops_per_s,
    l.memory_byte_per_s,
    l.memory_byte,
    l.tdp_w,
    -- Backend in which a question runs the part if it names none.
    d.backend AS default_backend,
    -- Precision policy in which a question runs the part if it names none.
    d.precision AS default_precision,
    l.status,
    l.origin,
    -- Impossible number of the part, because of which its runs have no time and energy; else null.
    f.fault
FROM part_list AS l
INNER JOIN hardware AS h ON h.hardware = l.hardware
LEFT JOIN default_target AS d ON d.hardware = l.hardware
LEFT JOIN faulty_parts AS f ON f.hardware = l.hardware
