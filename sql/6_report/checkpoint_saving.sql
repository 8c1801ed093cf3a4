-- Memory that activation checkpointing saves in training, and the time of recomputation. Only activations at the borders of about
-- sqrt(n) groups of kernels are saved, and the backward pass recomputes one group at a time (Chen et al. 2016, Training Deep Nets
-- with Sublinear Memory Cost). A model that already uses checkpointing has no row.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id
CREATE VIEW checkpoint_saving AS
-- Only the forward pass counts if a run also has a backward pass. Its share of the run's time equals its share of the
-- multiply-accumulates. The border of a group is the group's last result.
WITH kernel_results AS (
    SELECT
        k.run,
        k.position,
        s.output_byte AS result_byte,
        CASE WHEN m.is_training THEN s.output_byte ELSE c.crossing_byte END AS crossing_byte
    FROM run_kernel AS k
    INNER JOIN shape AS s ON s.run = k.run AND s.shape_id = k.shape_id
    INNER JOIN split_kernel AS c ON c.run = k.run AND c.kernel_id = k.kernel_id
    INNER JOIN model AS m ON m.model = k.run.model
    LEFT JOIN (SELECT DISTINCT model FROM operator WHERE is_repeated) AS o ON o.model = k.run.model
    WHERE o.model IS NULL AND k.kernel_id = k.fused_kernel_id AND s.output_byte > 0e0 AND NOT c.is_backward
),

cumulated_results AS (
    SELECT
        *,
        SUM(result_byte) OVER same_run AS stored_byte,
        SUM(result_byte) OVER (
            PARTITION BY run ORDER BY position
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - 0.5e0 * result_byte AS middle_byte,
        CEIL(SQRT(CAST(COUNT(*) OVER same_run AS DOUBLE))) AS group_count
    FROM kernel_results
    WINDOW same_run AS (PARTITION BY run)
),

grouped_results AS (
    SELECT
        *,
        LEAST(group_count - 1e0, FLOOR(middle_byte / NULLIF(stored_byte, 0e0) * group_count)) AS group_id
    FROM cumulated_results
),

group_sums AS (
    SELECT
        run,
        group_count,
        stored_byte,
        group_id,
        SUM(result_byte) AS group_byte,
        MAX_BY(crossing_byte, position) AS border_byte
    FROM grouped_results
    GROUP BY run, group_count, stored_byte, group_id
),

run_sums AS (
    SELECT
        run,
        group_count,
        stored_byte,
        LEAST(stored_byte, MAX(group_byte) + SUM(border_byte)) AS checkpointed_byte
    FROM group_sums
    GROUP BY run, group_count, stored_byte
)

SELECT
    c.run.model,
    c.hardware,
    c.run.backend,
    c.run.precision,
    c.run.batch,
    c.run.sequence,
    c.run.scenario_id,
    -- Number of groups of consecutive kernels.
    CAST(ROUND(t.group_count) AS BIGINT) AS group_count,
    -- Activations saved for the backward pass without checkpointing. [byte]
    t.stored_byte,
    -- Activations in memory with checkpointing: at the borders of all groups and inside the largest group. [byte]
    t.checkpointed_byte,
    -- Memory that checkpointing saves. [byte]
    t.stored_byte - t.checkpointed_byte AS saved_byte,
    -- Share of `stored_byte` that checkpointing saves.
    (t.stored_byte - t.checkpointed_byte) / NULLIF(t.stored_byte, 0e0) AS saved_fraction,
    -- Time to recompute the forward pass. [s]
    c.latency_s * COALESCE((r.block_macs + r.end_macs) / NULLIF(c.macs, 0e0), 1e0) AS recompute_s
FROM run_cost AS c
INNER JOIN run_sums AS t ON t.run = c.run
LEFT JOIN trained_run AS r ON r.run = c.run
