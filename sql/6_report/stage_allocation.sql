-- What each stage of a run asks of a part: the kernels at equal depth, which depend on no other of them. Inserted kernels
-- stand with the kernel they are made for.
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
    -- Kernels at this depth.
    CAST(COUNT(*) AS BIGINT) AS kernel_count,
    -- Operations of all of them.
    SUM(c.flops) AS flops,
    -- Independent output elements of all of them.
    SUM(c.threads) AS threads,
    -- Units they ask for together, side by side.
    SUM(c.units_allocated) AS units_wanted,
    -- Units they get side by side: what they ask for, at most all of the part.
    LEAST(SUM(c.units_allocated), MAX(c.unit_count)) AS units_allocated,
    -- Units of the part.
    MAX(c.unit_count) AS unit_count,
    -- Share of the part's units that they occupy side by side.
    LEAST(1e0, SUM(c.units_allocated) / NULLIF(MAX(c.unit_count), 0e0)) AS allocated_fraction,
    -- Device time one after the other. [s]
    SUM(c.device_s) AS sequential_s,
    -- Device time of the slowest. [s]
    MAX(c.device_s) AS longest_s
FROM kernel_cost AS c
INNER JOIN kernel AS k ON k.model = c.run.model AND k.backend = c.run.backend
    AND k.kernel_id = c.fused_kernel_id GROUP BY c.run, c.hardware, c.context, c.phase, c.memory_format, k.stage
