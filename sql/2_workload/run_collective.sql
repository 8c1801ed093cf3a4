-- Bytes and number of the collectives between the devices of a run in tensor parallelism (`split_kernel`).
-- Grain: run
CREATE TABLE run_collective AS
SELECT
    s.run,
    r.device_count,
    -- Bytes that all-reduces combine. [byte]
    SUM(s.all_reduce_byte) AS all_reduce_byte,
    -- Number of all-reduces.
    SUM(CASE WHEN s.all_reduce_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS all_reduce_count,
    -- Bytes that all-gathers collect. [byte]
    SUM(s.all_gather_byte) AS all_gather_byte,
    -- Number of all-gathers.
    SUM(CASE WHEN s.all_gather_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS all_gather_count
FROM run AS r
INNER JOIN split_kernel AS s ON s.run = r.run
WHERE r.device_count > 1
GROUP BY s.run, r.device_count
