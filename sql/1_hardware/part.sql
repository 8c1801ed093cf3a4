-- One wide row a part: units, array, memory levels, power, energy coefficients and price. The last-level cache is the
-- deepest level above main memory; a level that each unit owns counts as often as there are units.
-- Grain: hardware
CREATE TABLE part AS
WITH cluster_totals AS (
    SELECT
        hardware,
        CAST(SUM(unit_count) AS DOUBLE) AS unit_count,
        SUM(unit_count * COALESCE(lanes, 0e0)) / NULLIF(SUM(unit_count), 0) AS lanes,
        SQRT(SUM(unit_count * POWER(COALESCE(array_rows, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_rows,
        SQRT(SUM(unit_count * POWER(COALESCE(array_columns, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_columns,
        MAX(clock_boost_hz) AS clock_boost_hz
    FROM hardware_cluster
    GROUP BY hardware
),

chip_memory AS (
    SELECT
        m.hardware,
        m.level,
        m.depth,
        m.scope,
        m.capacity_byte,
        m.unit_bandwidth_byte_per_s,
        CASE WHEN m.scope = 'unit' THEN m.capacity_byte * c.unit_count ELSE m.capacity_byte END AS total_byte,
        CASE WHEN m.scope = 'unit' THEN m.bandwidth_byte_per_s * c.unit_count ELSE m.bandwidth_byte_per_s END
            AS total_byte_per_s
    FROM hardware_memory AS m
    INNER JOIN cluster_totals AS c ON c.hardware = m.hardware
),

-- Its depth, not MAX_BY over it: MAX_BY passes over nulls, and an unknown bandwidth must stay unknown.
last_caches AS (
    SELECT hardware, MAX(depth) AS depth
    FROM chip_memory
    WHERE level NOT IN ('dram', 'register') AND total_byte IS NOT NULL
    GROUP BY hardware
),

memory_totals AS (
    SELECT
        m.hardware,
        MAX(CASE WHEN m.level = 'dram' THEN m.total_byte END) AS dram_byte,
        MAX(CASE WHEN m.level = 'dram' THEN m.total_byte_per_s END) AS dram_byte_per_s,
        MAX(CASE WHEN m.level = 'dram' THEN m.unit_bandwidth_byte_per_s END) AS unit_dram_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte END) AS cache_byte,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte_per_s END) AS cache_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.level END) AS cache_level,
        MAX(CASE WHEN m.level = 'scratchpad' THEN m.capacity_byte END) AS scratchpad_byte,
        MAX(CASE WHEN m.level = 'scratchpad' THEN m.total_byte_per_s END) AS scratchpad_byte_per_s,
        MAX(CASE WHEN m.level = 'l1' THEN m.capacity_byte END) AS l1_byte,
        MAX(CASE WHEN m.level = 'l1' THEN m.total_byte_per_s END) AS l1_byte_per_s,
        MAX(CASE WHEN m.level = 'l2' AND m.scope = 'unit' THEN m.capacity_byte END) AS unit_l2_byte,
        MAX(CASE WHEN m.level = 'l2' AND m.scope = 'unit' THEN m.total_byte_per_s END) AS unit_l2_byte_per_s
    FROM chip_memory AS m
    LEFT JOIN last_caches AS k ON k.hardware = m.hardware
    GROUP BY m.hardware
),

default_power AS (
    SELECT hardware, MAX(tdp_w) AS tdp_w, MAX(clock_fraction) AS clock_fraction
    FROM hardware_power
    WHERE is_default
    GROUP BY hardware
),

overheads AS (
    SELECT
        hardware,
        MAX(CASE WHEN overhead = 'kernel_gap' THEN overhead_s END) AS kernel_gap_s,
        MAX(CASE WHEN overhead = 'memory_latency' THEN overhead_s END) AS memory_latency_s,
        MAX(CASE WHEN overhead = 'team' THEN overhead_s END) AS team_overhead_s
    FROM hardware_overhead
    GROUP BY hardware
),

-- A processor tiles for a core's own second level, the others for the memory beside their units.
tile_memories AS (
    SELECT
        h.hardware,
        CASE
            WHEN h.family = 'cpu' AND m.unit_l2_byte IS NOT NULL THEN 'l2'
            WHEN h.family <> 'cpu' AND m.scratchpad_byte IS NOT NULL THEN 'scratchpad'
            WHEN m.l1_byte IS NOT NULL THEN 'l1'
        END AS tile_memory_level,
        CASE
            WHEN h.family = 'cpu' THEN COALESCE(m.unit_l2_byte, m.l1_byte, m.cache_byte / NULLIF(c.unit_count, 0e0))
            ELSE COALESCE(m.scratchpad_byte, m.l1_byte, m.cache_byte / NULLIF(c.unit_count, 0e0))
        END AS tile_memory_byte,
        CASE
            WHEN h.family = 'cpu' AND m.unit_l2_byte IS NOT NULL THEN m.unit_l2_byte_per_s
            WHEN h.family <> 'cpu' AND m.scratchpad_byte IS NOT NULL THEN m.scratchpad_byte_per_s
            WHEN m.l1_byte IS NOT NULL THEN m.l1_byte_per_s
        END AS tile_memory_byte_per_s
    FROM hardware AS h
    INNER JOIN cluster_totals AS c ON c.hardware = h.hardware
    INNER JOIN memory_totals AS m ON m.hardware = h.hardware
),

energy_coefficients AS (
    SELECT
        e.hardware,
        MAX(CASE WHEN e.what = 'byte' AND e.key = 'dram' THEN e.value END) AS dram_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = m.cache_level THEN e.value END) AS cache_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = t.tile_memory_level THEN e.value END) AS tile_j_per_byte,
        MAX(CASE WHEN e.what = 'static' THEN e.value END) AS static_w,
        MIN(e.scope) AS energy_scope,
        SUM(CASE WHEN c.is_guess THEN 1 ELSE 0 END) AS guess_count
    FROM energy_profile AS e
    INNER JOIN confidence AS c ON c.confidence = e.confidence
    INNER JOIN memory_totals AS m ON m.hardware = e.hardware
    INNER JOIN tile_memories AS t ON t.hardware = e.hardware
    GROUP BY e.hardware
)

SELECT
    h.hardware,
    h.family,
    h.vendor,
    h.architecture,
    -- True when no silicon exists.
    h.status = 'simulated' AS is_simulated,
    -- Compute units: SMs, cores, matrix units, tiles.
    c.unit_count,
    -- fp32 results a unit finishes a clock.
    c.lanes,
    -- Rows of a unit's systolic or processing-element array, the root mean square where they differ, so that all units
    -- together keep their processing elements; 1 without one.
    c.array_rows,
    -- Columns of that array; 1 without one.
    c.array_columns,
    -- Size of the memory nearest the arithmetic that tiles must fit, of one unit. [byte]
    t.tile_memory_byte,
    -- Name of the memory that tiles must fit; null when the part has none.
    t.tile_memory_level,
    -- Peak bandwidth of all units' tile memories together; null when unknown. [byte/s]
    t.tile_memory_byte_per_s,
    -- Size of the last-level cache or on-chip memory; 0 when the part has none. [byte]
    COALESCE(m.cache_byte, 0e0) AS cache_byte,
    -- Peak bandwidth of the last-level cache; null when unknown. [byte/s]
    m.cache_byte_per_s,
    -- Name of the last-level cache; null when the part has none.
    m.cache_level,
    -- Size of main memory. [byte]
    m.dram_byte,
    -- Peak bandwidth of main memory. [byte/s]
    m.dram_byte_per_s,
    -- Most that one unit alone draws of it; null when unknown. [byte/s]
    m.unit_dram_byte_per_s,
    -- Power the default mode may draw; null when unknown. [W]
    p.tdp_w,
    -- Device time between two dependent kernels; 0 when the part states none. [s]
    COALESCE(g.kernel_gap_s, 0e0) AS part_kernel_gap_s,
    -- Time of one access to main memory that another waits for; 0 when the part states none. [s]
    COALESCE(g.memory_latency_s, 0e0) AS memory_latency_s,
    -- Time in which a team of threads of all units begins and ends; 0 when the part states none. [s]
    COALESCE(g.team_overhead_s, 0e0) AS team_overhead_s,
    -- Clock share of the default power mode.
    COALESCE(p.clock_fraction, 1e0) AS clock_fraction,
    -- Clock of the units in the default power mode; null when unknown. [Hz]
    c.clock_boost_hz * COALESCE(p.clock_fraction, 1e0) AS clock_hz,
    -- How its tensor cores are driven (`cuda_limit`); `mma` for parts without a compute capability.
    COALESCE(l.matrix_instruction, 'mma') AS matrix_instruction,
    -- Energy of a byte of main memory; null when unknown. [J/byte]
    e.dram_j_per_byte,
    -- Energy of a byte of the last-level cache; null when unknown. [J/byte]
    e.cache_j_per_byte,
    -- Energy of a byte of the memory beside the units; null when unknown. [J/byte]
    e.tile_j_per_byte,
    -- Static power; null when unknown. [W]
    e.static_w,
    -- Scope every energy coefficient is lifted to; null when the part has none.
    e.energy_scope,
    -- Energy coefficients that are assumed.
    CAST(COALESCE(e.guess_count, 0) AS BIGINT) AS guess_count
FROM hardware AS h
INNER JOIN cluster_totals AS c ON c.hardware = h.hardware
INNER JOIN memory_totals AS m ON m.hardware = h.hardware
INNER JOIN tile_memories AS t ON t.hardware = h.hardware
LEFT JOIN default_power AS p ON p.hardware = h.hardware
LEFT JOIN overheads AS g ON g.hardware = h.hardware
LEFT JOIN cuda_limit AS l ON l.compute_capability = h.compute_capability
LEFT JOIN energy_coefficients AS e ON e.hardware = h.hardware
