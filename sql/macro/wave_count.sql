-- Number of rounds in which units process their tiles. `wave_quantization_fraction` is the share of a partly empty last round that
-- is lost: 1 counts whole rounds, 0 fractions of at least one round.
CREATE MACRO wave_count(waves, tile_count, unit_count, wave_quantization_fraction) AS
    wave_quantization_fraction * waves
    + (1e0 - wave_quantization_fraction) * GREATEST(1e0, tile_count / NULLIF(unit_count, 0e0));
