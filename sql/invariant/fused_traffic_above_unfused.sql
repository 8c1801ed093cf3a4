-- Runs in which a backend's kernels move more bytes than the same operators without fusion. Both counts omit conversions and
-- copies, and use the element types of the policy: inductor's wider storage (`kernel_tensor.is_wide`) saves arithmetic, not
-- traffic.
-- Grain: model, backend, precision, batch, sequence, scenario_id
CREATE VIEW fused_traffic_above_unfused AS
WITH border_sums AS (
    SELECT
        r.run,
        SUM(CASE WHEN b.backend = r.run.backend THEN b.own_byte ELSE 0e0 END) AS fused_byte,
        SUM(CASE WHEN b.backend = 'eager' THEN b.own_byte ELSE 0e0 END) AS unfused_byte
    FROM run AS r
    INNER JOIN border_byte AS b ON b.run = r.run
    WHERE r.run.backend <> 'eager'
    GROUP BY r.run
)

SELECT
    run.model,
    run.backend,
    run.precision,
    run.batch,
    run.sequence,
    run.scenario_id,
    -- Traffic across the borders of the backend's kernels. [byte]
    fused_byte,
    -- Traffic across the borders of eager's kernels. [byte]
    unfused_byte
FROM border_sums
WHERE fused_byte > unfused_byte * (1e0 + 1e-12)
