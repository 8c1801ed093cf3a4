-- Links between equal parts with the speed of collectives over each link (the link's row of `collective`, else the row `*`), and
-- one row `none` for the single part.
-- Grain: hardware, interconnect
CREATE TABLE part_link AS
WITH faulty_links AS (
    SELECT DISTINCT hardware, SPLIT_PART(field, '.', 2) AS interconnect
    FROM part_fault
    WHERE kind = 'interconnect' AND NOT is_possible
),

possible_links AS (
    SELECT
        i.hardware,
        i.interconnect,
        CASE WHEN f.hardware IS NULL THEN i.bandwidth_byte_per_s END AS bandwidth_byte_per_s,
        CASE WHEN f.hardware IS NULL THEN i.latency_s END AS latency_s,
        i.device_count
    FROM hardware_interconnect AS i
    LEFT JOIN faulty_links AS f ON f.hardware = i.hardware AND f.interconnect = i.interconnect
),

chosen_collectives AS (
    SELECT
        i.hardware,
        i.interconnect,
        MAX_BY(c.interconnect, CASE WHEN c.interconnect = '*' THEN 0 ELSE 1 END) AS collective
    FROM hardware_interconnect AS i
    INNER JOIN collective AS c ON c.interconnect IN ('*', i.interconnect)
    GROUP BY i.hardware, i.interconnect
)

SELECT
    i.hardware,
    -- Name of the link; `none` for a single part.
    i.interconnect,
    -- Bandwidth of the link in one direction; null if a number of the link is impossible (`part_fault`). [byte/s]
    i.bandwidth_byte_per_s AS link_byte_per_s,
    -- Latency of a message; null if a number of the link is impossible. [s]
    i.latency_s AS link_s,
    -- Largest number of devices that the link joins.
    i.device_count AS link_device_count,
    -- Smallest number of devices for which no faster link joins all devices.
    COALESCE(MAX(i.device_count) OVER (
        PARTITION BY i.hardware ORDER BY i.bandwidth_byte_per_s DESC, i.interconnect
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 1) + 1 AS least_device_count,
    -- Startup time of a collective, before its first step. [s]
    c.call_fraction * i.latency_s AS collective_call_s,
    -- Latency of each step of a collective, without the time to transfer bytes. [s]
    c.step_fraction * i.latency_s AS collective_step_s,
    -- Bandwidth that a collective attains. [byte/s]
    c.bandwidth_fraction * i.bandwidth_byte_per_s AS collective_byte_per_s,
    -- Time of a server's own all-reduce without its bytes. [s]
    c.direct_call_fraction * i.latency_s AS direct_call_s,
    -- Bandwidth that it reaches. [byte/s]
    c.direct_bandwidth_fraction * i.bandwidth_byte_per_s AS direct_byte_per_s,
    -- 1 if the collective's row is assumed, else 0.
    CAST(CASE WHEN f.is_guess THEN 1 ELSE 0 END AS BIGINT) AS collective_assumed_count
FROM possible_links AS i
INNER JOIN chosen_collectives AS o ON o.hardware = i.hardware AND o.interconnect = i.interconnect
INNER JOIN collective AS c ON c.interconnect = o.collective
INNER JOIN confidence AS f ON f.confidence = c.confidence
UNION ALL
SELECT
    hardware,
    'none' AS interconnect,
    1e0 AS link_byte_per_s,
    0e0 AS link_s,
    1 AS link_device_count,
    1 AS least_device_count,
    0e0 AS collective_call_s,
    0e0 AS collective_step_s,
    1e0 AS collective_byte_per_s,
    0e0 AS direct_call_s,
    1e0 AS direct_byte_per_s,
    0 AS collective_assumed_count
FROM hardware
