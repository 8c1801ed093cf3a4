-- What a last-level cache large enough for every activation would save: main memory then moves weights and
-- model inputs only, and each kernel takes the slower of its arithmetic and what memory is left.
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW cache_opportunity (
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
    -- Last-level cache of the part; 0 without one. [byte]
    cache_byte,
    -- Cache that holds the activations at their peak. [byte]
    needed_byte,
    -- Device time now. [s]
    device_s,
    -- Device time with such a cache. [s]
    cached_device_s,
    -- Device time saved. [s]
    saved_s,
    -- Main memory traffic saved. [byte]
    saved_dram_byte
) AS
WITH cached_kernels AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        k.device_s,
        k.dram_byte,
        LEAST(k.dram_byte, k.weight_byte) AS cached_dram_byte,
        k.device_s - k.busy_s + GREATEST(
            k.compute_s,
            k.cache_s,
            k.reload_s,
            k.dram_s * LEAST(k.dram_byte, k.weight_byte) / NULLIF(k.dram_byte, 0e0),
            COALESCE(k.power_s, 0e0)
        ) AS cached_device_s
    FROM kernel_cost AS k
),

totals AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        SUM(device_s) AS device_s,
        SUM(LEAST(device_s, COALESCE(cached_device_s, device_s))) AS cached_device_s,
        SUM(dram_byte - cached_dram_byte) AS saved_dram_byte
    FROM cached_kernels
    GROUP BY model_id, scenario_id, hardware_id
)

SELECT
    l.model,
    t.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    t.model_id,
    t.scenario_id,
    t.hardware_id,
    u.cache_byte,
    m.activation_byte + m.rounding_byte + m.workspace_byte AS needed_byte,
    t.device_s,
    t.cached_device_s,
    t.device_s - t.cached_device_s AS saved_s,
    t.saved_dram_byte
FROM totals AS t
INNER JOIN run_label AS l ON l.model_id = t.model_id AND l.scenario_id = t.scenario_id
INNER JOIN run_memory AS m ON m.model_id = t.model_id AND m.scenario_id = t.scenario_id
INNER JOIN hardware_unit AS u ON u.hardware_id = t.hardware_id
