-- The buffers that operands stream through from the memories next to the units to the arithmetic, and results back.
-- Term: stream, memory, stream_byte, stream_memory_byte_per_s, , stream_s, stream_energy_j
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_stream AS
SELECT
    * EXCLUDE (memory_s, memory_level, memory_energy_j),
    -- Energy of those buffers; null when a coefficient is missing. [J]
    CASE WHEN stream_level IS NULL THEN 0e0 ELSE stream_byte * stream_j_per_byte END AS stream_energy_j,
    GREATEST(memory_s, stream_s) AS memory_s,
    CASE WHEN stream_s > memory_s THEN stream_level ELSE memory_level END AS memory_level,
    memory_energy_j + stream_energy_j AS memory_energy_j
FROM cost_reload
