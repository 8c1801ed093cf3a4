-- Runs in which a backend's kernels would move more than the same operators one by one, conversions not counted.
-- Grain: model_id, scenario_id, backend
CREATE VIEW fused_traffic_above_unfused (
    -- Model.
    model_id,
    -- Scenario, for its sizes and precision.
    scenario_id,
    -- Backend of the partition.
    backend,
    -- What crosses its kernels' borders. [byte]
    moved_byte,
    -- What crosses the borders of eager's kernels. [byte]
    unfused_byte
) AS
WITH backend_sums AS (
    SELECT
        model_id,
        scenario_id,
        backend,
        SUM(moved_byte) AS moved_byte
    FROM border_byte
    GROUP BY model_id, scenario_id, backend
)

SELECT
    f.model_id,
    f.scenario_id,
    f.backend,
    f.moved_byte,
    u.moved_byte AS unfused_byte
FROM backend_sums AS f
INNER JOIN backend_sums AS u
    ON u.model_id = f.model_id AND u.scenario_id = f.scenario_id AND u.backend = 'eager'
WHERE f.moved_byte > u.moved_byte * (1e0 + 1e-12)
