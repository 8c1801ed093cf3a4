-- The memories next to the units, which the tiles load operands from.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_reload AS
SELECT
    *,
    -- Time of the memories next to the units: reload_byte over their bandwidth; 0 when that is unknown. [s]
    COALESCE(reload_byte / NULLIF(tile_memory_byte_per_s, 0e0), 0e0) AS reload_s
FROM cost_naive
