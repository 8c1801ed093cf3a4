-- Quantities of every part that the coefficients of derivation rules are multiplied by (`derivation_basis`): clocks, lanes and
-- units of the first cluster, and main-memory bandwidth. Rules fitted per core use the core count of the part's catalog file: added
-- cores change neither the bandwidth of one core nor the fitted time of a thread team.
-- Grain: hardware, basis
CREATE VIEW part_basis AS
WITH first_clusters AS (
    SELECT
        hardware,
        MIN_BY(cluster, ROW(COALESCE(cluster_rank, 0), cluster)) AS cluster,
        SUM(unit_count) AS all_units
    FROM hardware_cluster
    GROUP BY hardware
),

part_amounts AS (
    SELECT
        h.hardware,
        c.clock_boost_hz AS clock,
        COALESCE(c.lanes, 1e0) AS lanes,
        c.lanes AS stated_lanes,
        c.unit_count,
        f.all_units,
        COALESCE(s.unit_count, f.all_units) AS stated_units,
        c.array_rows + c.array_columns AS streams,
        m.bandwidth_byte_per_s AS dram,
        l.registers_per_sm,
        l.shared_memory_per_sm_byte
    FROM hardware AS h
    LEFT JOIN shipped_part AS s ON s.hardware = h.hardware
    LEFT JOIN first_clusters AS f ON f.hardware = h.hardware
    LEFT JOIN hardware_cluster AS c ON c.hardware = f.hardware AND c.cluster = f.cluster
    LEFT JOIN hardware_memory AS m ON m.hardware = h.hardware AND m.level = 'dram'
    LEFT JOIN cuda_limit AS l ON l.compute_capability = h.compute_capability
),

listed_amounts AS (
    SELECT
        hardware,
        UNNEST([
            'one', 'clock', 'lane_clock', 'unit_clock', 'unit_lane_clock', 'stream_clock', 'dram', 'dram_share',
            'unit_per_dram', 'cuda_register', 'cuda_shared_memory'
        ]) AS basis,
        UNNEST([
            1e0, clock, lanes * clock, all_units * clock, unit_count * stated_lanes * clock, streams * clock, dram,
            dram / NULLIF(stated_units, 0e0), stated_units / NULLIF(dram, 0e0), registers_per_sm, shared_memory_per_sm_byte
        ]) AS value
    FROM part_amounts
)

SELECT
    hardware,
    -- Name of the quantity.
    basis,
    -- Value in SI, in the unit of the product of its factors.
    value
FROM listed_amounts
WHERE value IS NOT NULL
