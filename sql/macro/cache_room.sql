-- What activations and weights may fill of a last-level memory: all of it where software decides what lies there, for what fits
-- stays; of a cache the share that its replacement policy leaves (`efficiency`, residency). [byte]
CREATE MACRO cache_room(is_cache_placed, residency_fraction, cache_byte) AS
    CASE WHEN is_cache_placed THEN cache_byte ELSE residency_fraction * cache_byte END;
