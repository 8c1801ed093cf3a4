-- One wide row a part: the units, array, memory levels, power and overheads the cost model reads.
-- The last-level cache is the deepest level above main memory; a level each unit owns counts as often
-- as there are units.
-- Grain: hardware_id
CREATE VIEW hardware_unit (
    -- Part.
    hardware_id,
    -- `cpu`, `gpu`, `tpu`, `kpu`, `npu` or `dsp`.
    family,
    -- Microarchitecture.
    architecture,
    -- True when no silicon exists.
    is_simulated,
    -- Compute units: SMs, cores, matrix units, tiles.
    unit_count,
    -- fp32 results a unit finishes a clock.
    lanes,
    -- Rows of a unit's systolic or processing-element array, the root mean square where they differ, so that all units
    -- together keep their processing elements; 1 without one.
    array_rows,
    -- Columns of that array; 1 without one.
    array_columns,
    -- Size of the memory nearest the arithmetic that tiles must fit, of one unit. [byte]
    tile_memory_byte,
    -- Name of the memory that tiles must fit; null when the part has none.
    tile_memory_level,
    -- Peak bandwidth of all units' tile memories together; null when unknown. [byte/s]
    tile_memory_byte_per_s,
    -- Size of the last-level cache or on-chip memory; 0 when the part has none. [byte]
    cache_byte,
    -- Peak bandwidth of the last-level cache; null when unknown. [byte/s]
    cache_byte_per_s,
    -- Name of the last-level cache; null when the part has none.
    cache_level,
    -- Size of main memory. [byte]
    dram_byte,
    -- Peak bandwidth of main memory. [byte/s]
    dram_byte_per_s,
    -- Power the default mode may draw; null when unknown. [W]
    tdp_w,
    -- Device time between two dependent kernels; 0 when the part states none. [s]
    part_kernel_gap_s,
    -- Time of one access to main memory that another waits for; 0 when the part states none. [s]
    memory_latency_s,
    -- Clock share of the default power mode.
    clock_fraction,
    -- Clock of the units in the default power mode; null when unknown. [Hz]
    clock_hz,
    -- How its tensor cores are driven (`cuda_limit`); `mma` for parts without a compute capability.
    matrix_instruction
) AS
WITH cluster_totals AS (
    SELECT
        hardware_id,
        CAST(SUM(unit_count) AS DOUBLE) AS unit_count,
        SUM(unit_count * COALESCE(lanes, 0e0)) / NULLIF(SUM(unit_count), 0) AS lanes,
        SQRT(SUM(unit_count * POWER(COALESCE(array_rows, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_rows,
        SQRT(SUM(unit_count * POWER(COALESCE(array_columns, 1), 2)) / NULLIF(SUM(unit_count), 0)) AS array_columns,
        MAX(clock_boost_hz) AS clock_boost_hz
    FROM hardware_cluster
    GROUP BY hardware_id
),

chip_memory AS (
    SELECT
        me.hardware_id,
        me.level,
        me.depth,
        me.scope,
        me.capacity_byte,
        CASE WHEN me.scope = 'unit' THEN me.capacity_byte * c.unit_count ELSE me.capacity_byte END
            AS total_byte,
        CASE WHEN me.scope = 'unit' THEN me.bandwidth_byte_per_s * c.unit_count ELSE me.bandwidth_byte_per_s END
            AS total_byte_per_s
    FROM hardware_memory AS me
    INNER JOIN cluster_totals AS c ON c.hardware_id = me.hardware_id
),

-- Its depth, not MAX_BY over it: MAX_BY passes over nulls, and an unknown bandwidth must stay unknown.
last_caches AS (
    SELECT hardware_id, MAX(depth) AS depth
    FROM chip_memory
    WHERE level NOT IN ('dram', 'register') AND total_byte IS NOT NULL
    GROUP BY hardware_id
),

memory_totals AS (
    SELECT
        m.hardware_id,
        MAX(CASE WHEN level = 'dram' THEN total_byte END) AS dram_byte,
        MAX(CASE WHEN level = 'dram' THEN total_byte_per_s END) AS dram_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte END) AS cache_byte,
        MAX(CASE WHEN m.depth = k.depth THEN m.total_byte_per_s END) AS cache_byte_per_s,
        MAX(CASE WHEN m.depth = k.depth THEN m.level END) AS cache_level,
        MAX(CASE WHEN level = 'scratchpad' THEN capacity_byte END) AS scratchpad_byte,
        MAX(CASE WHEN level = 'scratchpad' THEN total_byte_per_s END) AS scratchpad_byte_per_s,
        MAX(CASE WHEN level = 'l1' THEN capacity_byte END) AS l1_byte,
        MAX(CASE WHEN level = 'l1' THEN total_byte_per_s END) AS l1_byte_per_s,
        MAX(CASE WHEN level = 'l2' AND scope = 'unit' THEN capacity_byte END) AS unit_l2_byte,
        MAX(CASE WHEN level = 'l2' AND scope = 'unit' THEN total_byte_per_s END) AS unit_l2_byte_per_s
    FROM chip_memory AS m
    LEFT JOIN last_caches AS k ON k.hardware_id = m.hardware_id
    GROUP BY m.hardware_id
),

default_power AS (
    SELECT
        hardware_id,
        MAX(tdp_w) AS tdp_w,
        MAX(clock_fraction) AS clock_fraction
    FROM hardware_power
    WHERE is_default
    GROUP BY hardware_id
),

overheads AS (
    SELECT
        hardware_id,
        MAX(CASE WHEN overhead = 'kernel_gap' THEN overhead_s END) AS part_kernel_gap_s,
        MAX(CASE WHEN overhead = 'memory_latency' THEN overhead_s END) AS memory_latency_s
    FROM hardware_overhead
    GROUP BY hardware_id
)

SELECT
    h.hardware_id,
    h.family,
    h.architecture,
    h.status = 'simulated' AS is_simulated,
    c.unit_count,
    c.lanes,
    c.array_rows,
    c.array_columns,
    CASE
        WHEN h.family = 'cpu' THEN COALESCE(me.unit_l2_byte, me.l1_byte, me.cache_byte / NULLIF(c.unit_count, 0e0))
        ELSE COALESCE(me.scratchpad_byte, me.l1_byte, me.cache_byte / NULLIF(c.unit_count, 0e0))
    END AS tile_memory_byte,
    CASE
        WHEN h.family = 'cpu' AND me.unit_l2_byte IS NOT NULL THEN 'l2'
        WHEN h.family <> 'cpu' AND me.scratchpad_byte IS NOT NULL THEN 'scratchpad'
        WHEN me.l1_byte IS NOT NULL THEN 'l1'
    END AS tile_memory_level,
    CASE
        WHEN h.family = 'cpu' AND me.unit_l2_byte IS NOT NULL THEN me.unit_l2_byte_per_s
        WHEN h.family <> 'cpu' AND me.scratchpad_byte IS NOT NULL THEN me.scratchpad_byte_per_s
        WHEN me.l1_byte IS NOT NULL THEN me.l1_byte_per_s
    END AS tile_memory_byte_per_s,
    COALESCE(me.cache_byte, 0e0) AS cache_byte,
    me.cache_byte_per_s,
    me.cache_level,
    me.dram_byte,
    me.dram_byte_per_s,
    p.tdp_w,
    COALESCE(g.part_kernel_gap_s, 0e0) AS part_kernel_gap_s,
    COALESCE(g.memory_latency_s, 0e0) AS memory_latency_s,
    COALESCE(p.clock_fraction, 1e0) AS clock_fraction,
    c.clock_boost_hz * COALESCE(p.clock_fraction, 1e0) AS clock_hz,
    COALESCE(l.matrix_instruction, 'mma') AS matrix_instruction
FROM hardware AS h
INNER JOIN cluster_totals AS c ON c.hardware_id = h.hardware_id
INNER JOIN memory_totals AS me ON me.hardware_id = h.hardware_id
LEFT JOIN default_power AS p ON p.hardware_id = h.hardware_id
LEFT JOIN overheads AS g ON g.hardware_id = h.hardware_id
LEFT JOIN cuda_limit AS l ON l.compute_capability = h.compute_capability
