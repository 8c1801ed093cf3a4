-- A model on several equal parts: data, tensor, pipeline and expert parallel over each interconnect, with
-- the time of a round split into computing, communicating and waiting. With one device every strategy gives
-- the single part's time. `data`: every device runs the scenario's batch; in training, a ring all-reduce of
-- the gradients follows. `tensor`: one batch on all devices; a split pair ends in a ring all-reduce of V bytes, which
-- sends 2(N-1)/N * V in 2(N-1) steps (Patarasuk and Yuan 2009), an all-gather half of that in half the steps.
-- `pipeline`: kernels in N consecutive groups of about equal time, 4 N batches in flight one after the
-- other, (M + N - 1) * slowest group (Huang et al. 2019, GPipe). `expert`: batches as in `data`, experts
-- spread over the devices, an all-to-all of (N-1)/N * V in N-1 steps before and after. What a call makes of a
-- link's latency and bandwidth are rows of `collective`. The split kernels are taken to run as efficiently as whole
-- ones, so the times are lower bounds.
-- Grain: model_id, scenario_id, hardware_id, interconnect, device_count, strategy
CREATE VIEW parallel_plan (
    -- Name of the model.
    model,
    -- Part.
    hardware,
    -- Backend.
    backend,
    -- Precision policy.
    precision,
    -- Samples a device is given at once.
    batch,
    -- Tokens processed a sample.
    sequence,
    -- Tokens attended to a sample.
    context,
    -- `forward`, `prefill` or `decode`.
    phase,
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Link; `none` for a single part.
    interconnect,
    -- `data`, `tensor`, `pipeline` or `expert`.
    strategy,
    -- Devices.
    device_count,
    -- Samples finished in a round by all devices.
    round_samples,
    -- Time of a round: compute_s, communication_s and bubble_s together. [s]
    round_s,
    -- Part of the round in which a device runs the model. [s]
    compute_s,
    -- Part of the round in which it sends and receives. [s]
    communication_s,
    -- Part of the round in which it waits for the others. [s]
    bubble_s,
    -- Time until the result of a sample. [s]
    latency_s,
    -- Samples finished in a second by all devices. [1/s]
    throughput_per_s,
    -- Throughput over that of one device.
    speedup,
    -- Speed-up over the number of devices.
    scaling_efficiency_fraction,
    -- Bytes a device sends in a round. [byte]
    sent_byte,
    -- Memory a device needs; activations are counted whole. [byte]
    device_memory_byte,
    -- True when that fits its main memory.
    fits_device,
    -- Rent of all devices for a million samples; null when unknown. [USD]
    million_inference_usd,
    -- True when no silicon of the part exists.
    is_simulated,
    -- Assumed inputs of the catalog it rests on, links and what collectives make of them included; see `assumed_input`.
    assumed_count
) AS
WITH degrees AS (
    SELECT 1e0 AS n UNION ALL SELECT 2e0 AS n UNION ALL SELECT 4e0 AS n UNION ALL SELECT 8e0 AS n
    UNION ALL SELECT 16e0 AS n UNION ALL SELECT 32e0 AS n UNION ALL SELECT 64e0 AS n
),

chosen_collectives AS (
    SELECT
        i.hardware_id,
        i.interconnect,
        MAX_BY(c.interconnect, CASE WHEN c.interconnect = '*' THEN 0 ELSE 1 END) AS collective
    FROM hardware_interconnect AS i
    INNER JOIN collective AS c ON c.interconnect IN ('*', i.interconnect)
    GROUP BY i.hardware_id, i.interconnect
),

links AS (
    SELECT
        i.hardware_id,
        i.interconnect,
        i.bandwidth_byte_per_s,
        i.latency_s,
        CAST(i.device_count AS DOUBLE) AS device_count,
        c.call_fraction * i.latency_s AS call_s,
        c.step_fraction * i.latency_s AS step_s,
        c.bandwidth_fraction * i.bandwidth_byte_per_s AS collective_byte_per_s,
        CASE WHEN f.is_guess THEN 1 ELSE 0 END AS assumed_count
    FROM hardware_interconnect AS i
    INNER JOIN chosen_collectives AS o ON o.hardware_id = i.hardware_id AND o.interconnect = i.interconnect
    INNER JOIN collective AS c ON c.interconnect = o.collective
    INNER JOIN confidence AS f ON f.confidence = c.confidence
    UNION ALL
    SELECT
        hardware_id,
        'none' AS interconnect,
        1e0 AS bandwidth_byte_per_s,
        0e0 AS latency_s,
        1e0 AS device_count,
        0e0 AS call_s,
        0e0 AS step_s,
        1e0 AS collective_byte_per_s,
        0 AS assumed_count
    FROM hardware
),

group_sums AS (
    SELECT
        k.model_id,
        k.scenario_id,
        k.hardware_id,
        d.n,
        LEAST(d.n - 1e0, FLOOR(k.middle_s / NULLIF(k.model_latency_s, 0e0) * d.n)) AS pipeline_group,
        SUM(k.latency_s) AS latency_s,
        SUM(k.host_issue_s) AS host_issue_s,
        SUM(k.busy_s * k.split_share) AS split_s,
        SUM(k.all_reduce_byte) AS all_reduce_byte,
        SUM(CASE WHEN k.all_reduce_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS all_reduce_count,
        SUM(k.all_gather_byte) AS all_gather_byte,
        SUM(CASE WHEN k.all_gather_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS all_gather_count,
        SUM(k.all_to_all_byte) AS all_to_all_byte,
        SUM(CASE WHEN k.all_to_all_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS all_to_all_count,
        SUM(k.weight_byte) AS weight_byte,
        SUM(k.weight_byte * k.split_share) AS split_weight_byte,
        SUM(k.weight_byte * k.expert_share) AS expert_weight_byte,
        MAX_BY(c.crossing_byte, k.position) AS send_byte
    FROM parallel_kernel AS k
    LEFT JOIN cut_byte AS c
        ON c.model_id = k.model_id AND c.scenario_id = k.scenario_id AND c.subgraph_id = k.subgraph_id
    CROSS JOIN degrees AS d
    GROUP BY
        k.model_id, k.scenario_id, k.hardware_id, d.n,
        LEAST(d.n - 1e0, FLOOR(k.middle_s / NULLIF(k.model_latency_s, 0e0) * d.n))
),

model_sums AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        n,
        SUM(latency_s) AS latency_s,
        SUM(host_issue_s) AS host_issue_s,
        SUM(split_s) AS split_s,
        SUM(all_reduce_byte) AS all_reduce_byte,
        SUM(all_reduce_count) AS all_reduce_count,
        SUM(all_gather_byte) AS all_gather_byte,
        SUM(all_gather_count) AS all_gather_count,
        SUM(all_to_all_byte) AS all_to_all_byte,
        SUM(all_to_all_count) AS all_to_all_count,
        SUM(split_weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS split_weight_fraction,
        SUM(expert_weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS expert_weight_fraction,
        MAX(weight_byte) / NULLIF(SUM(weight_byte), 0e0) AS group_weight_fraction,
        MAX(latency_s) AS group_s,
        MAX(COALESCE(send_byte, 0e0)) AS send_byte,
        SUM(COALESCE(send_byte, 0e0)) AS all_sent_byte,
        SUM(CASE WHEN send_byte > 0e0 THEN 1e0 ELSE 0e0 END) AS send_count
    FROM group_sums
    GROUP BY model_id, scenario_id, hardware_id, n
),

priced_links AS (
    SELECT
        s.*,
        k.interconnect,
        r.batch,
        m.is_training,
        e.weight_byte + e.buffer_byte AS model_byte,
        e.weight_byte AS gradient_byte,
        e.kv_cache_byte,
        e.activation_byte + e.rounding_byte + e.workspace_byte AS activation_byte,
        u.dram_byte,
        u.is_simulated,
        p.price_usd_per_hour,
        k.latency_s AS link_s,
        k.bandwidth_byte_per_s,
        k.call_s,
        k.step_s,
        k.collective_byte_per_s,
        k.assumed_count,
        2e0 * (s.n - 1e0) / NULLIF(s.n, 0e0) AS reduce_share,
        (s.n - 1e0) / NULLIF(s.n, 0e0) AS gather_share
    FROM model_sums AS s
    INNER JOIN links AS k
        ON k.hardware_id = s.hardware_id AND k.device_count >= s.n AND (s.n > 1e0 OR k.interconnect = 'none')
    INNER JOIN run AS r ON r.model_id = s.model_id AND r.scenario_id = s.scenario_id
    INNER JOIN model AS m ON m.model_id = s.model_id
    INNER JOIN run_memory AS e ON e.model_id = s.model_id AND e.scenario_id = s.scenario_id
    INNER JOIN hardware_unit AS u ON u.hardware_id = s.hardware_id
    LEFT JOIN price AS p ON p.hardware_id = s.hardware_id
),

strategies AS (
    SELECT
        model_id, scenario_id, hardware_id, interconnect, n, batch, assumed_count, is_simulated, dram_byte, price_usd_per_hour,
        latency_s AS single_s,
        'data' AS strategy,
        n * batch AS round_samples,
        latency_s AS compute_s,
        CASE
            WHEN is_training
                THEN reduce_share * gradient_byte / NULLIF(collective_byte_per_s, 0e0) + call_s + 2e0 * (n - 1e0) * step_s
            ELSE 0e0
        END AS communication_s,
        0e0 AS bubble_s,
        0e0 AS extra_latency_s,
        CASE WHEN is_training THEN reduce_share * gradient_byte ELSE 0e0 END AS sent_byte,
        model_byte + kv_cache_byte + activation_byte AS device_memory_byte
    FROM priced_links
    UNION ALL
    SELECT
        model_id, scenario_id, hardware_id, interconnect, n, batch, assumed_count, is_simulated, dram_byte, price_usd_per_hour,
        latency_s AS single_s,
        'tensor' AS strategy,
        batch AS round_samples,
        GREATEST(latency_s - split_s * (1e0 - 1e0 / NULLIF(n, 0e0)), host_issue_s) AS compute_s,
        (reduce_share * all_reduce_byte + gather_share * all_gather_byte) / NULLIF(collective_byte_per_s, 0e0)
        + call_s * (all_reduce_count + all_gather_count)
        + (n - 1e0) * step_s * (2e0 * all_reduce_count + all_gather_count) AS communication_s,
        0e0 AS bubble_s,
        0e0 AS extra_latency_s,
        reduce_share * all_reduce_byte + gather_share * all_gather_byte AS sent_byte,
        model_byte * (1e0 - COALESCE(split_weight_fraction, 0e0) * (1e0 - 1e0 / NULLIF(n, 0e0)))
        + kv_cache_byte / NULLIF(n, 0e0) + activation_byte AS device_memory_byte
    FROM priced_links
    UNION ALL
    SELECT
        model_id, scenario_id, hardware_id, interconnect, n, batch, assumed_count, is_simulated, dram_byte, price_usd_per_hour,
        latency_s AS single_s,
        'pipeline' AS strategy,
        4e0 * n * batch AS round_samples,
        4e0 * latency_s AS compute_s,
        4e0 * n * (send_byte / NULLIF(bandwidth_byte_per_s, 0e0) + CASE WHEN send_byte > 0e0 THEN link_s ELSE 0e0 END)
            AS communication_s,
        (5e0 * n - 1e0)
        * (group_s + send_byte / NULLIF(bandwidth_byte_per_s, 0e0) + CASE WHEN send_byte > 0e0 THEN link_s ELSE 0e0 END)
        - 4e0 * latency_s
        - 4e0 * n * (send_byte / NULLIF(bandwidth_byte_per_s, 0e0) + CASE WHEN send_byte > 0e0 THEN link_s ELSE 0e0 END)
            AS bubble_s,
        latency_s + all_sent_byte / NULLIF(bandwidth_byte_per_s, 0e0) + send_count * link_s AS extra_latency_s,
        4e0 * n * send_byte AS sent_byte,
        model_byte * COALESCE(group_weight_fraction, 1e0) + kv_cache_byte / NULLIF(n, 0e0) + activation_byte AS device_memory_byte
    FROM priced_links
    UNION ALL
    SELECT
        model_id, scenario_id, hardware_id, interconnect, n, batch, assumed_count, is_simulated, dram_byte, price_usd_per_hour,
        latency_s AS single_s,
        'expert' AS strategy,
        n * batch AS round_samples,
        latency_s AS compute_s,
        gather_share * all_to_all_byte / NULLIF(collective_byte_per_s, 0e0)
        + all_to_all_count * (call_s + (n - 1e0) * step_s) AS communication_s,
        0e0 AS bubble_s,
        0e0 AS extra_latency_s,
        gather_share * all_to_all_byte AS sent_byte,
        model_byte * (1e0 - expert_weight_fraction * (1e0 - 1e0 / NULLIF(n, 0e0))) + kv_cache_byte + activation_byte
            AS device_memory_byte
    FROM priced_links
    WHERE expert_weight_fraction > 0e0
),

timed_strategies AS (
    SELECT
        *,
        compute_s + communication_s + bubble_s AS round_s
    FROM strategies
)

SELECT
    l.model,
    t.hardware_id AS hardware,
    l.backend,
    l.precision,
    l.batch,
    l.sequence,
    l.context,
    l.phase,
    t.model_id,
    t.scenario_id,
    t.hardware_id,
    t.interconnect,
    t.strategy,
    CAST(ROUND(t.n) AS BIGINT) AS device_count,
    CAST(ROUND(t.round_samples) AS BIGINT) AS round_samples,
    t.round_s,
    t.compute_s,
    t.communication_s,
    t.bubble_s,
    CASE WHEN t.strategy = 'pipeline' THEN t.extra_latency_s ELSE t.round_s END AS latency_s,
    t.round_samples / NULLIF(t.round_s, 0e0) AS throughput_per_s,
    t.round_samples / NULLIF(t.round_s, 0e0) * t.single_s / NULLIF(t.batch, 0e0) AS speedup,
    t.round_samples / NULLIF(t.round_s, 0e0) * t.single_s / NULLIF(t.batch * t.n, 0e0) AS scaling_efficiency_fraction,
    t.sent_byte,
    t.device_memory_byte,
    t.device_memory_byte <= t.dram_byte AS fits_device,
    t.price_usd_per_hour / 3600e0 * t.n * t.round_s / NULLIF(t.round_samples, 0e0) * 1e6 AS million_inference_usd,
    t.is_simulated,
    CAST(g.assumed_count + g.link_count + t.assumed_count AS BIGINT) AS assumed_count
FROM timed_strategies AS t
INNER JOIN run_label AS l ON l.model_id = t.model_id AND l.scenario_id = t.scenario_id
INNER JOIN assumed_input AS g
    ON g.hardware_id = t.hardware_id AND g.backend = l.backend AND g.policy = l.precision
