-- Share of each device in the work of a shape of a run on several devices: an equal part, in whole heads, of kernels that tensor
-- parallelism splits (`split_kernel`), and the whole of all other kernels. If a KV cache has fewer heads than devices, several
-- devices read the same head; a cache without heads is read by all devices.
-- Grain: run, shape_id
CREATE TABLE shape_share AS
SELECT
    k.run,
    k.shape_id,
    -- Share of the arithmetic of the shape's kernels that one device executes.
    AVG(CASE WHEN s.is_split THEN split_share(s.pieces, s.fewer_pieces, s.fewer_fraction, r.device_count) ELSE 1e0 END)
        AS device_share,
    -- Share of the bytes of the shape's kernels that one device moves.
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
INNER JOIN run_kernel AS k ON k.run = r.run
INNER JOIN split_kernel AS s ON s.run = k.run AND s.kernel_id = k.kernel_id
INNER JOIN shape AS h ON h.run = k.run AND h.shape_id = k.shape_id
WHERE r.device_count > 1
GROUP BY k.run, k.shape_id
