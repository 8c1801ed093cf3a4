-- Number of waves in which units process their tiles. `wave_quantization_fraction` is the share of a partly empty last wave that is
-- lost: 1 counts whole waves, 0 counts fractional waves, but at least one wave.
CREATE MACRO wave_count(waves, tile_count, unit_count, wave_quantization_fraction) AS
    wave_quantization_fraction * waves
    + (1e0 - wave_quantization_fraction) * GREATEST(1e0, tile_count / NULLIF(unit_count, 0e0));
