-- Main memory: traffic divided by the share of the peak bandwidth that kernels of the class attain at this size. At
-- `memory_half_byte` bytes per unit, kernels attain half of the share of large kernels. The units are those of the part's file,
-- because added units do not change the bytes that the memory needs in flight.
-- Term: dram, memory, dram_byte, dram_byte_per_s, memory_fraction, dram_s, dram_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_dram AS
SELECT
    *,
    -- Traffic of main memory: all traffic except the bytes that the last-level cache serves. [byte]
    moved_byte - resident_byte AS dram_byte,
    -- Time of main memory: `dram_byte` divided by peak bandwidth and memory efficiency. [s]
    (dram_byte + CASE WHEN moved_byte > 0e0 THEN memory_half_byte * stated_unit_count ELSE 0e0 END)
    / NULLIF(dram_byte_per_s * memory_fraction, 0e0) AS dram_s,
    -- Energy of main memory; null when a coefficient is missing. [J]
    dram_byte * dram_j_per_byte AS dram_energy_j
FROM cost_traffic
