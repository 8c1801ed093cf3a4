-- Energy of what units fetch from a memory shared by all units, without each byte's first crossing, which the cache's term counts; 0
-- without more bytes, null when the memory's coefficient is missing. [J]
CREATE MACRO fetch_energy(fetch_byte, moved_byte, cache_j_per_byte) AS
    CASE WHEN fetch_byte > moved_byte THEN (fetch_byte - moved_byte) * cache_j_per_byte ELSE 0e0 END;
