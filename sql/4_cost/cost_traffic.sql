-- Bytes of a shape on a part: what crosses its border, what a domain-flow chain spills besides, and what of it the
-- last-level cache serves, where it holds a kernel's inputs from earlier kernels and its results together. What streams
-- through a cache that is too small for it is evicted before it is read again. The links that follow each add a mechanism,
-- and what it means for the slowest memory level, for what comes one after another, and for energy.
-- Link: 10
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id, hardware
CREATE VIEW cost_traffic AS
SELECT
    p.*,
    -- Everything that crosses the border, and what a domain-flow chain moves besides (`chain_cut`). [byte]
    p.traffic_byte + COALESCE(c.spilled_byte, 0e0) AS moved_byte,
    -- Links of a domain-flow chain that do not fit on chip.
    COALESCE(c.cut_count, 0) AS cut_count,
    -- Part of the traffic the last-level cache serves. [byte]
    CASE
        WHEN p.cache_state = 'hot' AND p.traffic_byte <= p.cache_byte THEN p.traffic_byte
        WHEN p.cache_state <> 'cold' AND p.produced_byte + p.output_byte <= p.residency_fraction * p.cache_byte
            THEN p.produced_byte + p.output_byte
        ELSE 0e0
    END AS resident_byte,
    -- Time of the slowest memory level. [s]
    0e0 AS memory_s,
    -- Level of memory_s: `dram`, the last-level cache or the tile memory; `latency` where dependent accesses take longest,
    -- `thread` where few threads do.
    'dram' AS memory_level,
    -- Time of what neither overlaps with arithmetic nor with memory: library calls, pages, teams of threads. [s]
    0e0 AS exposed_s,
    -- Energy of all traffic; null when a coefficient is missing. [J]
    0e0 AS memory_energy_j
FROM shape_target AS p
LEFT JOIN chain_cut AS c
    ON c.model = p.model AND c.backend = p.backend AND c.precision = p.precision AND c.batch = p.batch
    AND c.sequence = p.sequence AND c.scenario_id = p.scenario_id AND c.shape_id = p.shape_id
    AND c.hardware = p.hardware
