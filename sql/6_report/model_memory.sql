-- Peak memory of every run on every part that can execute the run, and a test whether the run fits.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
-- At hand: stored
CREATE VIEW model_memory AS
SELECT
    r.run.model,
    t.hardware,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    r.context,
    r.phase,
    r.memory_format,
    m.weight_byte,
    m.buffer_byte,
    m.kv_cache_byte,
    m.gradient_byte,
    m.activation_byte,
    m.rounding_byte,
    m.workspace_byte,
    -- Main memory that the backend leaves free. [byte]
    m.reserve_fraction * h.dram_byte AS reserve_byte,
    -- Main memory of the framework's process: the driver's context, stacks and code; null when unknown. [byte]
    CASE WHEN x.backend IS NULL THEN 0e0 ELSE x.context_byte END AS context_byte,
    -- Peak memory of the run plus the memory that the backend leaves free; null if a number of the run is impossible
    -- (`condition_fault`). [byte]
    m.peak_memory_byte + m.reserve_fraction * h.dram_byte AS peak_memory_byte,
    -- Peak memory rounded up to whole segments, in which the caching allocator requests memory from the device. [byte]
    CEIL(m.peak_memory_byte / NULLIF(c.value, 0e0)) * c.value AS reserved_byte,
    m.peak_kernel_id,
    -- Anchor operator of the kernel at the peak.
    o.operator AS peak_operator,
    -- Module of `peak_operator`.
    d.path AS peak_module,
    -- Capacity of the part's main memory. [byte]
    h.dram_byte AS device_byte,
    -- Share of the part's main memory that the run needs, the context of its process included.
    occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) / NULLIF(h.dram_byte, 0e0) AS device_fraction,
    -- True if the run fits the part's main memory together with the context of its process (`part_context`).
    occupied_byte(m.peak_memory_byte, m.reserve_fraction, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte AS fits_device,
    h.cache_byte,
    -- True if the activations at their peak fit the last-level cache.
    m.gradient_byte + m.activation_byte + m.rounding_byte + m.workspace_byte <= h.cache_byte AS fits_activation_in_cache,
    -- True if the run's peak memory fits the last-level cache.
    m.peak_memory_byte <= h.cache_byte AS fits_cache
FROM run AS r
INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
INNER JOIN part AS h ON h.hardware = t.hardware
INNER JOIN run_memory AS m ON m.run = r.run
LEFT JOIN part_context AS x ON x.hardware = t.hardware AND x.backend = t.backend
INNER JOIN library_constant AS c ON c.library_constant = 'allocator_segment_byte'
LEFT JOIN kernel AS k ON k.model = m.run.model AND k.backend = m.run.backend AND k.kernel_id = m.peak_kernel_id
LEFT JOIN operator AS o ON o.model = k.model AND o.operator_id = k.anchor_operator_id
LEFT JOIN module AS d ON d.model = o.model AND d.module_id = o.module_id
