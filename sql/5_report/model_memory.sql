-- Peak memory of every run on every part that can execute it, and whether it fits.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW model_memory (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples in one run.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- `nchw` or `nhwc`.
    memory_format,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Parameters. [byte]
    weight_byte,
    -- Buffers and constants. [byte]
    buffer_byte,
    -- Key-value cache. [byte]
    kv_cache_byte,
    -- Most activations, inputs and converted copies held at once. [byte]
    activation_byte,
    -- What the allocator's blocks of 512 bytes add. [byte]
    rounding_byte,
    -- Scratch memory of the backend. [byte]
    workspace_byte,
    -- All of these together. [byte]
    peak_memory_byte,
    -- Peak in segments of 2 MiB, as the caching allocator asks the device for it. [byte]
    reserved_byte,
    -- Kernel at which the activations peak.
    peak_subgraph_id,
    -- Operator that gives that kernel its character.
    peak_operator,
    -- Module of that operator.
    peak_module,
    -- Main memory of the part. [byte]
    device_byte,
    -- Share of the part's main memory the run needs.
    device_fraction,
    -- True when it fits the part's main memory.
    fits_device,
    -- Last-level cache of the part; 0 without one. [byte]
    cache_byte,
    -- True when the activations at their peak fit the last-level cache.
    fits_activation_in_cache,
    -- True when everything fits the last-level cache.
    fits_cache
) AS
SELECT
    l.model,
    t.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    l.memory_format,
    l.model_id,
    l.scenario_id,
    t.hardware_id,
    m.weight_byte,
    m.buffer_byte,
    m.kv_cache_byte,
    m.activation_byte,
    m.rounding_byte,
    m.workspace_byte,
    m.peak_memory_byte,
    CEIL(m.peak_memory_byte / 2097152e0) * 2097152e0 AS reserved_byte,
    m.peak_subgraph_id,
    o.operator AS peak_operator,
    md.path AS peak_module,
    h.dram_byte AS device_byte,
    m.peak_memory_byte / NULLIF(h.dram_byte, 0e0) AS device_fraction,
    m.peak_memory_byte <= h.dram_byte AS fits_device,
    h.cache_byte,
    m.activation_byte + m.rounding_byte + m.workspace_byte <= h.cache_byte AS fits_activation_in_cache,
    m.peak_memory_byte <= h.cache_byte AS fits_cache
FROM target AS t
INNER JOIN run_label AS l ON l.model_id = t.model_id AND l.scenario_id = t.scenario_id
INNER JOIN run_memory AS m ON m.model_id = t.model_id AND m.scenario_id = t.scenario_id
INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
LEFT JOIN subgraph AS k
    ON k.model_id = t.model_id AND k.backend = t.backend AND k.subgraph_id = m.peak_subgraph_id
LEFT JOIN operator AS o ON o.model_id = k.model_id AND o.operator_id = k.anchor_operator_id
LEFT JOIN module AS md ON md.model_id = o.model_id AND md.module_id = o.module_id
