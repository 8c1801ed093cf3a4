-- Parts of the catalog, one per row: peaks, main memory and power.
-- Grain: hardware
CREATE VIEW part_list AS
WITH best_peaks AS (
    SELECT
        hardware,
        MAX(CASE WHEN precision = 'fp32' AND unit = 'vector' THEN peak_ops_per_s END) AS fp32_ops_per_s,
        MAX(CASE WHEN precision IN ('fp16', 'bf16') AND accumulator <> 'fp16' THEN peak_ops_per_s END) AS half_ops_per_s,
        MAX(CASE WHEN precision = 'int8' THEN peak_ops_per_s END) AS int8_ops_per_s
    FROM part_peak
    GROUP BY hardware
)

SELECT
    h.hardware,
    h.family,
    h.name,
    -- Highest fp32 peak of the vector units at the boost clock; the default power mode runs at a share of the boost clock
    -- (`hardware_power.clock_fraction`). [ops/s]
    p.fp32_ops_per_s,
    -- Highest peak in fp16 or bf16 with an accumulator wider than fp16. [ops/s]
    p.half_ops_per_s,
    -- Highest peak in int8. [ops/s]
    p.int8_ops_per_s,
    -- Bandwidth of the main memory. [byte/s]
    m.bandwidth_byte_per_s AS memory_byte_per_s,
    -- Size of the main memory. [byte]
    m.capacity_byte AS memory_byte,
    w.tdp_w,
    h.status,
    h.origin
FROM hardware AS h
LEFT JOIN best_peaks AS p ON p.hardware = h.hardware
LEFT JOIN hardware_memory AS m ON m.hardware = h.hardware AND m.level = 'dram'
LEFT JOIN hardware_power AS w ON w.hardware = h.hardware AND w.is_default
