-- Fit of a run's weights, activations and total memory in each memory level of each part. The capacity of a level that each unit
-- has is multiplied by the number of units.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, level
CREATE VIEW memory_fit AS
WITH level_sizes AS (
    SELECT
        m.hardware,
        m.level,
        m.depth,
        CASE WHEN m.scope = 'unit' THEN m.capacity_byte * h.unit_count ELSE m.capacity_byte END AS capacity_byte
    FROM part_memory AS m
    INNER JOIN part AS h ON h.hardware = m.hardware
    WHERE m.capacity_byte IS NOT NULL
)

SELECT
    r.run.model,
    t.hardware,
    r.run.backend,
    r.run.precision,
    r.run.batch,
    r.run.sequence,
    r.run.scenario_id,
    -- Memory level.
    z.level,
    -- Depth of the level in the hierarchy, counted from the arithmetic units.
    z.depth,
    -- Capacity of the level on the whole part. [byte]
    z.capacity_byte,
    -- Parameters, buffers and constants. [byte]
    m.weight_byte + m.buffer_byte AS weight_byte,
    -- Gradients and activations at their peak, rounding to the allocator's blocks and workspace included. [byte]
    m.gradient_byte + m.activation_byte + m.rounding_byte + m.workspace_byte AS activation_byte,
    m.peak_memory_byte,
    -- True if the weights, buffers and constants fit in the level.
    m.weight_byte + m.buffer_byte <= z.capacity_byte AS fits_weight,
    -- True if the activations at their peak fit in the level.
    m.gradient_byte + m.activation_byte + m.rounding_byte + m.workspace_byte <= z.capacity_byte AS fits_activation,
    -- True if the run's peak memory fits in the level.
    m.peak_memory_byte <= z.capacity_byte AS fits_all,
    -- Memory for double buffering: twice the weights, buffers, gradients and activations. [byte]
    2e0 * (m.weight_byte + m.buffer_byte + m.gradient_byte + m.activation_byte) AS double_buffered_byte,
    -- True if `double_buffered_byte` fits in the level.
    2e0 * (m.weight_byte + m.buffer_byte + m.gradient_byte + m.activation_byte) <= z.capacity_byte AS fits_double_buffered
FROM run AS r
INNER JOIN part_support AS t ON t.backend = r.run.backend AND t.precision = r.run.precision
INNER JOIN run_memory AS m ON m.run = r.run
INNER JOIN level_sizes AS z ON z.hardware = t.hardware
