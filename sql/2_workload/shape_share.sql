-- What each device of a run on several does of a shape: one of as many parts of the kernels that tensor parallel splits
-- (`split_kernel`), of heads at least one whole, and all of the others. A cache of fewer heads than devices is read by several of them,
-- one without heads by all.
-- Grain: model, backend, precision, batch, sequence, scenario_id, shape_id
CREATE TABLE shape_share AS
SELECT
    k.model,
    k.backend,
    k.precision,
    k.batch,
    k.sequence,
    k.scenario_id,
    k.shape_id,
    -- Share of the work of the shape's kernels that a device does.
    AVG(CASE WHEN s.is_split THEN split_share(s.pieces, s.fewer_pieces, s.fewer_fraction, r.device_count) ELSE 1e0 END)
        AS device_share,
    -- Share of the bytes that they move.
    AVG(
        CASE
            WHEN s.is_split
                THEN split_share(
                    s.pieces, s.fewer_pieces,
                    GREATEST(s.fewer_fraction, COALESCE(h.kv_cache_byte / NULLIF(h.traffic_byte, 0e0), 0e0)), r.device_count
                )
            ELSE 1e0
        END
    ) AS moved_share
FROM run AS r
INNER JOIN run_kernel AS k
    ON k.model = r.model AND k.backend = r.backend AND k.precision = r.precision AND k.batch = r.batch
    AND k.sequence = r.sequence AND k.scenario_id = r.scenario_id
INNER JOIN split_kernel AS s
    ON s.model = k.model AND s.backend = k.backend AND s.precision = k.precision AND s.batch = k.batch
    AND s.sequence = k.sequence AND s.scenario_id = k.scenario_id AND s.kernel_id = k.kernel_id
INNER JOIN shape AS h
    ON h.model = k.model AND h.backend = k.backend AND h.precision = k.precision AND h.batch = k.batch
    AND h.sequence = k.sequence AND h.scenario_id = k.scenario_id AND h.shape_id = k.shape_id
WHERE r.device_count > 1
GROUP BY k.model, k.backend, k.precision, k.batch, k.sequence, k.scenario_id, k.shape_id
