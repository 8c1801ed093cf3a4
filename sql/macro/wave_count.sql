-- Rounds in which units work through their tiles, counted in the share of a part of the last one that is lost: whole ones where
-- all of it is, at least one where none.
CREATE MACRO wave_count(waves, tile_count, unit_count, wave_quantization_fraction) AS
    wave_quantization_fraction * waves
    + (1e0 - wave_quantization_fraction) * GREATEST(1e0, tile_count / NULLIF(unit_count, 0e0));
