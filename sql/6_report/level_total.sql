-- Bytes and energy of a run by memory level, and its energy in the units and at rest, for each kernel class, for the run's call and for
-- `all` of them. The energies of `all` sum to the run's energy.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class, level
CREATE VIEW level_total AS
WITH placed_energies AS (
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class, level,
        CASE border WHEN 'dram' THEN 1 WHEN 'cache' THEN 2 WHEN 'tile' THEN 3 ELSE 4 END AS depth,
        CAST(level_byte AS DOUBLE) AS level_byte,
        CAST(level_j AS DOUBLE) AS level_j
    FROM kernel_level
    UNION ALL
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class, 'arithmetic' AS level, 5 AS depth,
        NULL AS level_byte,
        CAST(compute_energy_j AS DOUBLE) AS level_j
    FROM kernel_energy
    UNION ALL
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class, 'static' AS level, 6 AS depth,
        NULL AS level_byte,
        CAST(static_energy_j AS DOUBLE) AS level_j
    FROM kernel_energy
    UNION ALL
    SELECT
        model, hardware, backend, precision, batch, sequence, scenario_id, '(run call)' AS kernel_class, 'static' AS level, 6 AS depth,
        NULL AS level_byte,
        CAST(CASE WHEN energy_j IS NOT NULL THEN static_w * run_call_s END AS DOUBLE) AS level_j
    FROM model_cost
),

classed_energies AS (
    SELECT * FROM placed_energies
    UNION ALL
    SELECT model, hardware, backend, precision, batch, sequence, scenario_id, 'all' AS kernel_class, level, depth, level_byte, level_j
    FROM placed_energies
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    -- Class of the kernels, `(run call)`, or `all`.
    kernel_class,
    -- Name of the memory level on this part, `arithmetic` for the units (arrays and vector units), or `static`.
    level,
    -- Position of the level, from main memory inwards.
    CAST(MIN(depth) AS BIGINT) AS depth,
    -- Bytes that cross into or out of the level; null for `arithmetic` and `static`. [byte]
    SUM(level_byte) AS level_byte,
    -- Energy of these bytes, of the operations, or of static power; null when a coefficient is missing. [J]
    SUM(level_j) + CASE WHEN COUNT(*) > COUNT(level_j) THEN NULL ELSE 0e0 END AS level_j
FROM classed_energies
GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_class, level
