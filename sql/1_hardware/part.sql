-- Numbers of each part in one wide row: units, array, memory levels, power, overheads and energy coefficients.
-- Grain: hardware
CREATE TABLE part AS
WITH default_power AS (
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
        MAX(CASE WHEN overhead = 'norm_block' THEN overhead_s END) AS norm_block_s,
        MAX(CASE WHEN overhead = 'team' THEN overhead_s END) AS team_overhead_s
    FROM part_overhead
    GROUP BY hardware
),

energy_coefficients AS (
    SELECT
        e.hardware,
        MAX(CASE WHEN e.what = 'byte' AND e.key = 'dram' THEN e.value END) AS dram_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = m.cache_level THEN e.value END) AS cache_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = m.tile_memory_level THEN e.value END) AS tile_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = m.stream_level THEN e.value END) AS stream_j_per_byte,
        MAX(CASE WHEN e.what = 'op' AND e.key = 'element' THEN e.value END) AS element_j,
        MAX(CASE WHEN e.what = 'static' THEN e.value END) AS static_w,
        MAX(CASE WHEN e.what = 'static' AND e.is_stated THEN 1e0 ELSE 0e0 END) AS stated_static,
        MAX(CASE WHEN e.what = 'byte' AND e.key = 'dram' THEN e.confidence END) AS dram_confidence,
        MIN(CASE WHEN e.is_stated THEN 1 ELSE 0 END) AS stated_energies,
        MIN(e.scope) AS energy_scope,
        SUM(CASE WHEN c.is_guess THEN 1 ELSE 0 END) AS guess_count
    FROM part_energy AS e
    INNER JOIN confidence AS c ON c.confidence = e.confidence
    INNER JOIN part_level AS m ON m.hardware = e.hardware
    GROUP BY e.hardware
)

SELECT
    h.hardware,
    h.family,
    h.vendor,
    h.architecture,
    f.is_staged,
    -- Dataflow of the part's arrays (the operand that stays in the array), from the part's row, else from the family's; else null.
    COALESCE(h.dataflow, f.dataflow) AS dataflow,
    -- True for a part without silicon: simulated or announced.
    lacks_silicon(h.status) AS is_simulated,
    c.unit_count,
    -- Number of compute units in the part's catalog file, for values fitted per unit and for libraries that decide by the number.
    COALESCE(t.unit_count, c.unit_count) AS stated_unit_count,
    c.lanes,
    c.array_rows,
    c.array_columns,
    m.register_byte,
    m.tile_memory_byte,
    -- Size of the tile memory in the part's catalog file, by which libraries choose block sizes. [byte]
    COALESCE(CASE m.tile_memory_level WHEN 'l1' THEN t.unit_l1_byte WHEN 'l2' THEN t.unit_l2_byte END, m.tile_memory_byte)
        AS stated_tile_memory_byte,
    m.tile_memory_pool_byte,
    m.tile_memory_level,
    m.tile_memory_byte_per_s,
    m.stream_level,
    -- Size of the stream level of one unit; null without a stream level. [byte]
    CASE WHEN m.stream_level IS NOT NULL THEN m.stream_memory_byte END AS stream_memory_byte,
    -- Peak bandwidth of the stream level of all units together; null when unknown. [byte/s]
    CASE WHEN m.stream_level IS NOT NULL THEN m.stream_memory_byte_per_s END AS stream_memory_byte_per_s,
    -- Size of the last-level cache or on-chip memory; 0 when the part has none. [byte]
    COALESCE(m.cache_byte, 0e0) AS cache_byte,
    m.cache_byte_per_s,
    m.cache_level,
    m.takes_groups,
    m.is_cache_placed,
    m.keeps_weights,
    m.dram_byte,
    m.dram_byte_per_s,
    m.unit_dram_byte_per_s,
    -- Power limit of the default mode; null when unknown. [W]
    p.tdp_w,
    -- Device time between two dependent kernels; 0 when the part states none. [s]
    COALESCE(g.kernel_gap_s, 0e0) AS part_kernel_gap_s,
    -- Latency of a dependent access to main memory; 0 when the part states none. [s]
    COALESCE(g.memory_latency_s, 0e0) AS memory_latency_s,
    -- Time of a block of PyTorch's layer-norm GPU kernel for a short row; null when unknown. [s]
    g.norm_block_s,
    -- Time to start and join a thread team on all units; 0 when the part states none. [s]
    COALESCE(g.team_overhead_s, 0e0) AS team_overhead_s,
    -- Ratio of the default power mode's clock to the boost clock.
    COALESCE(p.clock_fraction, 1e0) AS clock_fraction,
    -- Clock of the units in the default power mode; null when unknown. [Hz]
    c.clock_boost_hz * COALESCE(p.clock_fraction, 1e0) AS clock_hz,
    -- Largest number of resident threads of a unit; null for parts without a compute capability.
    l.threads_per_sm AS unit_thread_count,
    -- Instruction of the tensor cores (`cuda_limit`); `mma` for parts without a compute capability.
    COALESCE(l.matrix_instruction, 'mma') AS matrix_instruction,
    -- Energy of a byte of main memory; null when unknown. [J/byte]
    e.dram_j_per_byte,
    -- Energy of a byte of the last-level cache at the reference clock; null when unknown. [J/byte]
    e.cache_j_per_byte,
    -- Energy of a byte of the memory next to the units at the reference clock; null when unknown. [J/byte]
    e.tile_j_per_byte,
    -- Energy of a byte of the stream buffers between tile memory and arithmetic; null when unknown. [J/byte]
    e.stream_j_per_byte,
    -- Energy of the instructions that load, convert and store an element of a kernel without products, at the reference clock; 0
    -- where the energy of an operation includes it. [J]
    COALESCE(e.element_j, 0e0) AS element_j,
    -- Static power while clocks run, at the reference clock and voltage; null when unknown. [W]
    e.static_w,
    -- Part of the static power that is proportional to the clock; 0 where the part states the sum. [W]
    COALESCE((1e0 - e.stated_static) * a.clocking_w, 0e0) AS clocking_w,
    -- Part of the static power that depends on neither clock nor voltage (memory in standby); 0 where the part states the sum. [W]
    COALESCE((1e0 - e.stated_static) * a.memory_w, 0e0) AS standby_w,
    -- Ratio of the default mode's clock to the reference clock of the process; the mode's clock share if a clock is unknown.
    COALESCE(
        c.clock_boost_hz * COALESCE(p.clock_fraction, 1e0) / NULLIF(s.reference_clock_hz, 0e0), COALESCE(p.clock_fraction, 1e0)
    ) AS reference_fraction,
    s.voltage_slope,
    s.voltage_floor,
    s.voltage_ceiling,
    s.clock_floor,
    -- Scope of every energy coefficient, such as the board; null when the part has no coefficients.
    e.energy_scope,
    -- Confidence in the part's energies: `stated` if the part states all, else `assumed`, `measured` or `derived`, the weaker of
    -- the lift to the board and of main memory; null without energies.
    CASE
        WHEN e.hardware IS NULL THEN NULL
        WHEN e.stated_energies = 1 THEN 'stated'
        WHEN 'assumed' IN (s.confidence, e.dram_confidence) THEN 'assumed'
        WHEN s.confidence = 'measured' AND e.dram_confidence = 'measured' THEN 'measured'
        ELSE 'derived'
    END AS energy_basis,
    -- Number of assumed energy coefficients.
    CAST(COALESCE(e.guess_count, 0) AS BIGINT) AS guess_count
FROM hardware AS h
INNER JOIN hardware_family AS f ON f.family = h.family
LEFT JOIN shipped_part AS t ON t.hardware = h.hardware
LEFT JOIN part_unit AS c ON c.hardware = h.hardware
LEFT JOIN part_level AS m ON m.hardware = h.hardware
LEFT JOIN default_power AS p ON p.hardware = h.hardware
LEFT JOIN overheads AS g ON g.hardware = h.hardware
LEFT JOIN cuda_limit AS l ON l.compute_capability = h.compute_capability
LEFT JOIN energy_coefficients AS e ON e.hardware = h.hardware
LEFT JOIN part_silicon AS s ON s.hardware = h.hardware
LEFT JOIN part_leakage AS a ON a.hardware = h.hardware
