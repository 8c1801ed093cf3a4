-- Time in which a memory shared by all units gives what the units fetch; 0 when its bandwidth is unknown. [s]
CREATE MACRO fetch_time(fetch_byte, cache_byte_per_s) AS COALESCE(fetch_byte / NULLIF(cache_byte_per_s, 0e0), 0e0);
