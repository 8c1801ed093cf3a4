-- Bandwidth and time per step of the collectives of each group of devices in a split. A group within one node uses the fastest link
-- that joins enough of the node's parts; a larger group uses the network, whose ports all members in a node share.
-- Grain: hardware, split
CREATE VIEW split_link AS
WITH networks AS (
    SELECT
        h.hardware,
        MAX_BY(n.network_byte_per_s, CASE WHEN n.of_part = '*' THEN 0 ELSE 1 END) AS network_byte_per_s,
        MAX_BY(n.network_s, CASE WHEN n.of_part = '*' THEN 0 ELSE 1 END) AS network_s,
        MAX_BY(n.network_fraction, CASE WHEN n.of_part = '*' THEN 0 ELSE 1 END) AS network_fraction,
        MAX_BY(n.node_device_count, CASE WHEN n.of_part = '*' THEN 0 ELSE 1 END) AS node_device_count
    FROM part AS h
    INNER JOIN network AS n ON n.of_part IN ('*', h.hardware)
    GROUP BY h.hardware
),

-- Number of members of each group in one node. Ranks are numbered along tensor, context, data and pipeline parallelism in this
-- order.
members AS (
    SELECT
        n.*,
        d.split,
        d.tensor,
        d.context,
        d.expert,
        d.context * d.data AS replicas,
        d.tensor * d.context * d.data * d.pipeline AS device_count,
        LEAST(d.tensor, n.node_device_count) AS tensor_members,
        LEAST(d.context, GREATEST(1, n.node_device_count / NULLIF(d.tensor, 0))) AS context_members,
        LEAST(d.expert, GREATEST(1, n.node_device_count / NULLIF(d.tensor, 0))) AS expert_members,
        LEAST(d.context * d.data, GREATEST(1, n.node_device_count / NULLIF(d.tensor, 0))) AS replica_members,
        LEAST(d.tensor * d.context * d.data * d.pipeline, n.node_device_count) AS node_members
    FROM networks AS n
    CROSS JOIN device_split AS d
),

linked_members AS (
    SELECT
        m.*,
        l.interconnect,
        l.link_byte_per_s,
        l.link_s,
        l.collective_byte_per_s,
        l.direct_byte_per_s,
        l.direct_call_s,
        l.collective_call_s,
        l.collective_step_s,
        m.network_byte_per_s * m.network_fraction AS port_byte_per_s,
        m.network_s * l.collective_step_s / NULLIF(l.link_s, 0e0) AS port_step_s
    FROM members AS m
    INNER JOIN part_link AS l
        ON l.hardware = m.hardware
        AND CASE
            WHEN m.node_members = 1 THEN l.interconnect = 'none'
            ELSE m.node_members BETWEEN l.least_device_count AND l.link_device_count AND l.interconnect <> 'none'
        END
)

SELECT
    hardware,
    split,
    interconnect,
    -- Number of devices.
    CAST(device_count AS BIGINT) AS device_count,
    collective_call_s,
    -- Bandwidth of a server's own all-reduces of tensor parallel; null across nodes. [byte/s]
    CASE WHEN tensor <= tensor_members THEN direct_byte_per_s END AS direct_byte_per_s,
    direct_call_s,
    -- Bandwidth of the collectives of tensor parallel. [byte/s]
    CASE
        WHEN tensor <= tensor_members THEN collective_byte_per_s
        ELSE LEAST(collective_byte_per_s, tensor_members * port_byte_per_s)
    END AS tensor_byte_per_s,
    -- Time of each step of tensor parallelism's collectives. [s]
    CASE WHEN tensor <= tensor_members THEN collective_step_s ELSE port_step_s END AS tensor_step_s,
    -- Bandwidth of the collectives of context parallelism. [byte/s]
    CASE
        WHEN context <= context_members THEN collective_byte_per_s
        ELSE LEAST(collective_byte_per_s, context_members * port_byte_per_s)
    END AS context_byte_per_s,
    -- Time of each step of context parallelism's collectives. [s]
    CASE WHEN context <= context_members THEN collective_step_s ELSE port_step_s END AS context_step_s,
    -- Bandwidth of the collectives of expert parallelism. [byte/s]
    CASE
        WHEN expert <= expert_members THEN collective_byte_per_s
        ELSE LEAST(collective_byte_per_s, port_byte_per_s * (expert - 1) / NULLIF(expert - expert_members, 0))
    END AS expert_byte_per_s,
    -- Time of each step of expert parallelism's collectives. [s]
    CASE WHEN expert <= expert_members THEN collective_step_s ELSE port_step_s END AS expert_step_s,
    -- Bandwidth of the collectives between replicas. [byte/s]
    CASE
        WHEN replicas <= replica_members THEN collective_byte_per_s
        ELSE LEAST(collective_byte_per_s, replica_members * port_byte_per_s)
    END AS replica_byte_per_s,
    -- Time of each step of the collectives between replicas. [s]
    CASE WHEN replicas <= replica_members THEN collective_step_s ELSE port_step_s END AS replica_step_s,
    -- Bandwidth from one pipeline stage to the next. [byte/s]
    CASE WHEN device_count <= node_members THEN link_byte_per_s ELSE port_byte_per_s END AS send_byte_per_s,
    -- Latency of a message from one pipeline stage to the next. [s]
    CASE WHEN device_count <= node_members THEN link_s ELSE network_s END AS send_s
FROM linked_members
