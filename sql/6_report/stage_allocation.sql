-- Units that each stage of a run demands on a part. A stage consists of the kernels at equal depth in the graph, which do not
-- depend on one another. Inserted kernels belong to the stage of the kernel that they serve.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, stage
CREATE VIEW stage_allocation AS
SELECT
    c.run.model,
    c.hardware,
    c.run.backend,
    c.run.precision,
    c.run.batch,
    c.run.sequence,
    c.run.scenario_id,
    c.context,
    c.phase,
    c.memory_format,
    -- Depth in the graph of kernels, from 0.
    k.stage,
    -- Number of kernels in the stage.
    CAST(COUNT(*) AS BIGINT) AS kernel_count,
    -- Number of operations of the stage's kernels.
    SUM(c.flops) AS flops,
    -- Number of independent output elements of the stage's kernels.
    SUM(c.threads) AS threads,
    -- Number of units that the stage's kernels would use if they all ran at once.
    SUM(c.units_allocated) AS units_wanted,
    -- Number of units that the stage's kernels get if they all run at once: at most all units of the part.
    LEAST(SUM(c.units_allocated), MAX(c.unit_count)) AS units_allocated,
    -- Number of units of the part.
    MAX(c.unit_count) AS unit_count,
    -- Share of the part's units that the stage's kernels occupy if they all run at once.
    LEAST(1e0, SUM(c.units_allocated) / NULLIF(MAX(c.unit_count), 0e0)) AS allocated_fraction,
    -- Device time of the kernels one after the other. [s]
    SUM(c.device_s) AS sequential_s,
    -- Device time of the slowest kernel. [s]
    MAX(c.device_s) AS longest_s
FROM kernel_cost AS c
INNER JOIN kernel AS k ON k.model = c.run.model AND k.backend = c.run.backend
    AND k.kernel_id = c.fused_kernel_id GROUP BY c.run, c.hardware, c.context, c.phase, c.memory_format, k.stage
