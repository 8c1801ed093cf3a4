-- Backends and precision policies that a part supports, with the cost of dispatch and the part's numbers. The backend must support
-- the part's family and vendor, and the part must execute the policy's precision.
-- Grain: hardware, backend, precision
CREATE TABLE part_support AS
WITH policy_precisions AS (
    SELECT policy, MAX_BY(compute_precision, CASE WHEN operator_class = 'linear' THEN 1 ELSE 0 END) AS precision
    FROM precision_policy
    WHERE operator_class IN ('*', 'linear') AND compute_precision IS NOT NULL
    GROUP BY policy
),

-- Links, prices, years and the number of dice do not affect the time of one part. If a link's bandwidth is impossible, the link's
-- area is left out, and the answer lists the number (`assumed_input`).
faulty_parts AS (
    SELECT hardware, MIN(field) AS fault
    FROM part_fault
    WHERE NOT is_possible AND kind NOT IN ('interconnect', 'mesh', 'price', 'list_price') AND field NOT IN ('hardware.year', 'hardware.die_count')
    GROUP BY hardware
),

faulty_rules AS (
    SELECT kind, row_key, MIN(field) AS fault
    FROM rule_fault
    WHERE NOT is_possible
    GROUP BY kind, row_key
),

-- The fastest candidate is chosen, so one candidate with an impossible number makes the choice unknown.
faulty_tiles AS (
    SELECT s.hardware, MIN(f.fault) AS fault
    FROM part_strategy AS s
    INNER JOIN faulty_rules AS f ON f.kind = 'tiling_strategy' AND f.row_key = CONCAT(s.family, '.', s.candidate)
    GROUP BY s.hardware
),

faulty_grains AS (
    SELECT MIN(fault) AS fault
    FROM faulty_rules
    WHERE kind IN ('library_constant', 'precision')
)

SELECT
    s.hardware,
    s.backend,
    -- Precision policy.
    p.policy AS precision,
    s.family,
    s.vendor,
    s.dispatch,
    s.host_kernel_s,
    s.host_view_s,
    s.call_s,
    -- Device time between two dependent kernels under the backend. [s]
    h.part_kernel_gap_s * s.kernel_gap_fraction AS kernel_gap_s,
    s.default_precision,
    s.bias_is_kernel,
    s.chunk_element,
    s.shares_by_chunk,
    b.follows_strides,
    b.calls_aten,
    s.calls_library,
    h.is_simulated,
    h.unit_count,
    h.stated_unit_count,
    h.tile_memory_byte,
    h.tile_memory_level,
    h.tile_memory_byte_per_s,
    h.stream_level,
    h.stream_memory_byte_per_s,
    h.cache_byte,
    h.cache_byte_per_s,
    h.cache_level,
    h.takes_groups,
    h.is_cache_placed,
    h.keeps_weights,
    h.dram_byte AS main_memory_byte,
    h.dram_byte_per_s,
    -- Dense peak at the policy's precision, of the matrix units if the part has any. [ops/s]
    COALESCE(r.matrix_ops_per_s, r.vector_ops_per_s) AS dense_ops_per_s,
    h.unit_dram_byte_per_s,
    h.tdp_w,
    h.memory_latency_s,
    -- Time of a row of a normalization: time of a block of threads, divided by the number of resident blocks; null if the number of
    -- threads is unknown. [s]
    h.norm_block_s / NULLIF(h.unit_count * FLOOR(h.unit_thread_count / NULLIF(nt.value, 0e0)), 0e0) AS norm_row_s,
    -- Time of a channel of a sample of a batch norm, whose block of threads is smaller; null if the number of threads is unknown. [s]
    h.norm_block_s / NULLIF(h.unit_count * FLOOR(h.unit_thread_count / NULLIF(ct.value, 0e0)), 0e0) AS channel_row_s,
    -- True if cuDNN's kernels for the part's matrix units read channels last.
    h.matrix_instruction IN ('wgmma', 'tcgen05') AS reads_channels_last,
    -- Mean time between two elements if every resident thread keeps one load in flight (Little's law); null if the number of
    -- threads is unknown. [s]
    h.memory_latency_s / NULLIF(h.unit_count * h.unit_thread_count, 0e0) AS element_s,
    h.team_overhead_s,
    h.dram_j_per_byte,
    h.cache_j_per_byte,
    h.tile_j_per_byte,
    -- Energy of a byte of the first level; 0 where an operation's energy includes it. [J/byte]
    CASE WHEN h.is_staged THEN h.stream_j_per_byte ELSE 0e0 END AS stream_j_per_byte,
    h.element_j,
    h.is_staged,
    h.static_w,
    h.clocking_w,
    h.standby_w,
    -- Ratio of the default power mode's clock to the boost clock.
    h.clock_fraction AS default_clock_fraction,
    h.reference_fraction,
    h.voltage_slope,
    h.voltage_floor,
    h.voltage_ceiling,
    h.clock_floor,
    k.efficiency_chain,
    k.arithmetic,
    -- True if a link to a host is known.
    l.hardware IS NOT NULL AS has_host_link,
    -- Bandwidth of the link to the host. [byte/s]
    l.link_byte_per_s AS host_link_byte_per_s,
    -- Latency of the link to the host. [s]
    l.link_s AS host_link_s,
    -- Lowest power limit that the part can be set to; null when unknown. [W]
    w.least_w,
    -- Reason for null answers: an impossible number of the part or of a rule that applies under the backend (`part_fault`,
    -- `rule_fault`), or a resource without efficiency (`missing_efficiency`); else null.
    COALESCE(f.fault, d.fault, g.fault, CASE WHEN e.resource IS NOT NULL THEN CONCAT('efficiency.', e.resource) END) AS fault,
    -- Impossible number of one of the part's tiles, because of which kernels with products have no answer; else null.
    t.fault AS tile_fault
FROM supported_backend AS s
INNER JOIN backend AS b ON b.backend = s.backend
INNER JOIN part AS h ON h.hardware = s.hardware
INNER JOIN part_backend AS k ON k.hardware = s.hardware AND k.backend = s.backend
INNER JOIN hardware_rate AS r ON r.hardware = s.hardware AND (r.is_native OR s.converts)
INNER JOIN policy_precisions AS p ON p.precision = r.precision
LEFT JOIN faulty_parts AS f ON f.hardware = s.hardware
LEFT JOIN missing_efficiency AS e ON e.hardware = s.hardware AND e.backend = s.backend
LEFT JOIN faulty_rules AS d ON d.kind = 'backend_support' AND d.row_key = s.support_row
LEFT JOIN faulty_tiles AS t ON t.hardware = s.hardware
LEFT JOIN part_link AS l ON l.hardware = s.hardware AND l.interconnect = 'pcie'
LEFT JOIN power_range AS w ON w.hardware = s.hardware
CROSS JOIN faulty_grains AS g
INNER JOIN library_constant AS nt ON nt.library_constant = 'norm_block_threads'
INNER JOIN library_constant AS ct ON ct.library_constant = 'channel_block_threads'
