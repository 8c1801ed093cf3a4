-- Bytes of a last-level memory available to activations and weights: the whole capacity under software placement, else the share
-- that the cache's replacement policy leaves (`efficiency`, residency). [byte]
CREATE MACRO cache_room(is_cache_placed, residency_fraction, cache_byte) AS
    CASE WHEN is_cache_placed THEN cache_byte ELSE residency_fraction * cache_byte END;
