-- What each stage of a run asks of a part: the kernels at equal depth, which depend on no other of them.
-- Grain: model_id, scenario_id, hardware_id, stage
CREATE VIEW stage_allocation (
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
    -- Depth in the graph of kernels, from 0.
    stage,
    -- Kernels at this depth.
    kernel_count,
    -- Operations of all of them.
    flops,
    -- Independent output elements of all of them.
    threads,
    -- Units they would occupy side by side.
    units_allocated,
    -- Units of the part.
    unit_count,
    -- Share of the part's units that side by side would occupy, at most 1.
    allocated_fraction,
    -- Device time one after the other. [s]
    sequential_s,
    -- Device time of the slowest. [s]
    longest_s
) AS
WITH staged_kernels AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        s.stage,
        k.flops,
        k.threads,
        k.units_allocated,
        k.unit_count,
        k.device_s
    FROM kernel_cost AS k
    INNER JOIN run AS r ON r.model_id = k.model_id AND r.scenario_id = k.scenario_id
    INNER JOIN subgraph_operator AS so
        ON so.model_id = k.model_id AND so.backend = r.backend AND so.operator_id = k.anchor_operator_id
    INNER JOIN subgraph AS s
        ON s.model_id = so.model_id AND s.backend = so.backend AND s.subgraph_id = so.subgraph_id
),

stage_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        stage,
        COUNT(*) AS kernel_count,
        SUM(flops) AS flops,
        SUM(threads) AS threads,
        SUM(units_allocated) AS units_allocated,
        MAX(unit_count) AS unit_count,
        SUM(device_s) AS sequential_s,
        MAX(device_s) AS longest_s
    FROM staged_kernels
    GROUP BY model_id, scenario_id, hardware_id, stage
)

SELECT
    l.model,
    s.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.model_id,
    l.scenario_id,
    s.hardware_id,
    s.stage,
    CAST(s.kernel_count AS BIGINT) AS kernel_count,
    s.flops,
    s.threads,
    s.units_allocated,
    s.unit_count,
    LEAST(1e0, s.units_allocated / NULLIF(s.unit_count, 0e0)) AS allocated_fraction,
    s.sequential_s,
    s.longest_s
FROM stage_sums AS s
INNER JOIN run_label AS l ON l.model_id = s.model_id AND l.scenario_id = s.scenario_id
