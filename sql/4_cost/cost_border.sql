-- Costs of every shape on every part that do not depend on the tile: all memory levels except the memory next to the units, exposed
-- time, and steps other than products.
-- Grain: run, shape_id, hardware
CREATE VIEW cost_border AS
SELECT
    p.*,
    COALESCE(v.vector_step_count, 0) AS vector_step_count,
    COALESCE(v.vector_ideal_s, 0e0) AS vector_ideal_s,
    COALESCE(v.vector_op_s, 0e0) AS vector_op_s,
    COALESCE(v.vector_naive_s, 0e0) AS vector_naive_s,
    -- Energy of the vector steps, and of the instructions that move the elements of a kernel without products; null when a coefficient
    -- is missing. [J]
    CASE WHEN v.shape_id IS NULL THEN 0e0 ELSE v.vector_energy_j END + CASE WHEN p.macs = 0e0 THEN p.loop_elements * p.element_j ELSE 0e0 END
        AS vector_energy_j,
    COALESCE(v.vector_stream_byte, 0e0) AS vector_stream_byte,
    COALESCE(v.vector_stream_s, 0e0) AS vector_stream_s,
    -- Bytes that pass through the memories next to the units with any tile: all bytes if software moves data through every level,
    -- else 0. [byte]
    CASE WHEN p.is_staged THEN p.moved_byte ELSE 0e0 END AS staged_byte,
    -- Time to load `staged_byte` from the last-level cache; 0 when the bandwidth is unknown. [s]
    COALESCE(staged_byte / NULLIF(LEAST(p.tile_memory_byte_per_s, p.cache_byte_per_s), 0e0), 0e0) AS staged_load_s,
    -- Bytes that pass through the first memory level with any tile; 0 without a first level. [byte]
    CASE WHEN p.stream_level IS NULL THEN 0e0 ELSE p.moved_byte END AS passing_byte,
    -- Time to move `passing_byte`; 0 when the bandwidth is unknown. [s]
    COALESCE(
        passing_byte / NULLIF(
            CASE
                WHEN p.is_staged THEN LEAST(p.stream_memory_byte_per_s, p.tile_memory_byte_per_s) ELSE p.stream_memory_byte_per_s
            END, 0e0
        ), 0e0
    ) AS passing_s,
    COALESCE(v.vector_units_allocated, 0e0) AS vector_units_allocated
FROM cost_untiled AS p
LEFT JOIN vector_time AS v ON v.run = p.run AND v.shape_id = p.shape_id AND v.hardware = p.hardware
