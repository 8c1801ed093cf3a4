-- Memory that activation checkpointing would save in training, and the forward time it repeats: instead of
-- every result, only those at the borders of about sqrt(n) groups of kernels are kept, and one group at a
-- time is computed again (Chen et al. 2016, Training Deep Nets with Sublinear Memory Cost).
-- Grain: model_id, scenario_id, hardware_id
CREATE VIEW checkpoint_saving (
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
    -- Groups of consecutive kernels.
    group_count,
    -- Results of all kernels, kept for the backward pass. [byte]
    stored_byte,
    -- Results at the groups' borders and inside the largest group. [byte]
    checkpointed_byte,
    -- What checkpointing saves. [byte]
    saved_byte,
    -- Share of stored_byte that it saves.
    saved_fraction,
    -- Time of the repeated forward pass. [s]
    recompute_s
) AS
WITH kernel_results AS (
    SELECT
        b.model_id,
        b.scenario_id,
        b.subgraph_id,
        SUM(b.moved_byte) AS result_byte
    FROM border_byte AS b
    INNER JOIN run AS r
        ON r.model_id = b.model_id AND r.scenario_id = b.scenario_id AND r.backend = b.backend
    WHERE b.direction = 'write'
    GROUP BY b.model_id, b.scenario_id, b.subgraph_id
),

cumulated_results AS (
    SELECT
        *,
        SUM(result_byte) OVER (PARTITION BY model_id, scenario_id) AS stored_byte,
        SUM(result_byte) OVER (
            PARTITION BY model_id, scenario_id ORDER BY subgraph_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - 0.5e0 * result_byte AS middle_byte,
        CEIL(SQRT(CAST(COUNT(*) OVER (PARTITION BY model_id, scenario_id) AS DOUBLE))) AS group_count
    FROM kernel_results
),

groups AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.group_count,
        k.stored_byte,
        LEAST(k.group_count - 1e0, FLOOR(k.middle_byte / NULLIF(k.stored_byte, 0e0) * k.group_count)) AS group_id,
        SUM(k.result_byte) AS group_byte,
        MAX_BY(c.crossing_byte, k.subgraph_id) AS border_byte
    FROM cumulated_results AS k
    INNER JOIN cut_byte AS c
        ON c.model_id = k.model_id AND c.scenario_id = k.scenario_id AND c.subgraph_id = k.subgraph_id
    GROUP BY
        k.model_id, k.scenario_id, k.group_count, k.stored_byte,
        LEAST(k.group_count - 1e0, FLOOR(k.middle_byte / NULLIF(k.stored_byte, 0e0) * k.group_count))
),

totals AS (
    SELECT
        model_id,
        scenario_id,
        group_count,
        stored_byte,
        LEAST(stored_byte, MAX(group_byte) + SUM(border_byte)) AS checkpointed_byte
    FROM groups
    GROUP BY model_id, scenario_id, group_count, stored_byte
)

SELECT
    l.model,
    c.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    t.model_id,
    t.scenario_id,
    c.hardware_id,
    CAST(ROUND(t.group_count) AS BIGINT) AS group_count,
    t.stored_byte,
    t.checkpointed_byte,
    t.stored_byte - t.checkpointed_byte AS saved_byte,
    (t.stored_byte - t.checkpointed_byte) / NULLIF(t.stored_byte, 0e0) AS saved_fraction,
    c.latency_s AS recompute_s
FROM totals AS t
INNER JOIN run_label AS l ON l.model_id = t.model_id AND l.scenario_id = t.scenario_id
INNER JOIN model_cost AS c ON c.model_id = t.model_id AND c.scenario_id = t.scenario_id
