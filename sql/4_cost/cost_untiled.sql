-- Sum of the terms that do not depend on the tile: exposed time, and all memory levels except those next to the units. `tile_rank`
-- reads this sum before a tile is chosen; `cost_memory` adds the other terms.
-- Sum: untiled_s, seconds, memory
-- Sum: untiled_energy_j, joules, memory exposed
-- Sum: exposed_s, seconds, exposed
-- Grain: run, shape_id, hardware
CREATE VIEW cost_untiled AS
SELECT
    *,
    -- Time of the slowest memory level except those next to the units. [s]
    GREATEST(dram_s, cache_s, latency_bound_s, row_s, flight_s, thread_s) AS untiled_s,
    -- Energy of all memory levels except those next to the units; null when a coefficient is missing. [J]
    dram_energy_j + cache_energy_j + reorder_energy_j + library_energy_j AS untiled_energy_j,
    -- Time that overlaps neither arithmetic nor memory: library calls, pages, thread teams. [s]
    team_s + reorder_s + library_s + convert_s + paging_s AS exposed_s
FROM cost_paging
