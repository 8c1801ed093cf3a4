-- Whether a run's weights, activations and all of it fit each memory level of each part; a level every
-- unit owns counts as often as there are units.
-- Grain: model_id, scenario_id, hardware_id, level
CREATE VIEW memory_fit (
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
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Memory level.
    level,
    -- Distance from the arithmetic.
    depth,
    -- Size of the level on the whole part. [byte]
    capacity_byte,
    -- Parameters, buffers and constants. [byte]
    weight_byte,
    -- Activations at their peak, blocks and workspace included. [byte]
    activation_byte,
    -- Peak memory. [byte]
    peak_memory_byte,
    -- True when the weights fit.
    fits_weight,
    -- True when the activations at their peak fit.
    fits_activation,
    -- True when everything fits.
    fits_all
) AS
WITH level_sizes AS (
    SELECT
        hm.hardware_id,
        hm.level,
        hm.depth,
        CASE WHEN hm.scope = 'unit' THEN hm.capacity_byte * u.unit_count ELSE hm.capacity_byte END AS capacity_byte
    FROM hardware_memory AS hm
    INNER JOIN hardware_unit AS u ON u.hardware_id = hm.hardware_id
    WHERE hm.capacity_byte IS NOT NULL
)

SELECT
    l.model,
    t.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.model_id,
    l.scenario_id,
    t.hardware_id,
    z.level,
    z.depth,
    z.capacity_byte,
    m.weight_byte + m.buffer_byte AS weight_byte,
    m.activation_byte + m.rounding_byte + m.workspace_byte AS activation_byte,
    m.peak_memory_byte,
    m.weight_byte + m.buffer_byte <= z.capacity_byte AS fits_weight,
    m.activation_byte + m.rounding_byte + m.workspace_byte <= z.capacity_byte AS fits_activation,
    m.peak_memory_byte <= z.capacity_byte AS fits_all
FROM target AS t
INNER JOIN run_label AS l ON l.model_id = t.model_id AND l.scenario_id = t.scenario_id
INNER JOIN run_memory AS m ON m.model_id = t.model_id AND m.scenario_id = t.scenario_id
INNER JOIN level_sizes AS z ON z.hardware_id = t.hardware_id
