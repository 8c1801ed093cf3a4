-- Memory shared by all units, from which each unit fetches the operands of its tiles into a memory of its own, also operands that other
-- units fetch.
-- Term: fetch, memory, fetch_byte, cache_byte_per_s, , fetch_s, fetch_energy_j
-- Grain: run, shape_id, hardware
CREATE VIEW cost_fetch AS
SELECT
    *,
    -- Time of the shared memory to give `fetch_byte`; 0 without separate memories of the units or when the bandwidth is unknown. [s]
    fetch_time(fetch_byte, cache_byte_per_s) AS fetch_s,
    -- Energy of the shared memory for repeated fetches, without each byte's first crossing, which the cache's term counts; null when a
    -- coefficient is missing. [J]
    fetch_energy(fetch_byte, moved_byte, cache_j_per_byte) AS fetch_energy_j
FROM cost_reload
