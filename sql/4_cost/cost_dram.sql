-- Main memory: its traffic at the peak bandwidth and the share of it that kernels of the class reach at this size
-- (half_work: the bytes a unit at which half of it is reached).
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_dram AS
SELECT
    *,
    -- Traffic of main memory: all traffic less what the last-level cache serves. [byte]
    moved_byte - resident_byte AS dram_byte,
    -- Time of main memory: dram_byte over peak bandwidth and memory efficiency. [s]
    (moved_byte - resident_byte + CASE WHEN moved_byte > 0e0 THEN memory_half_byte * unit_count ELSE 0e0 END)
    / NULLIF(dram_byte_per_s * memory_fraction, 0e0) AS dram_s
FROM cost_traffic
