-- A prompt or a step of every split of a language model over devices that serve it: the time in which a stage of a pipeline does its
-- part of a run, and what that is made of. Tensor parallel is that of the run; experts are spread over replicas, each of which reads
-- those of its own that tokens of all replicas meet; context parallel shares a prompt's tokens, passing keys and values round a ring
-- behind the cores of attentions (Liu et al. 2023), or in a step the cache, whose partial results are added up.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, split
CREATE VIEW served_split AS
WITH joined_sums AS (
    SELECT
        g.*,
        d.split,
        d.tensor,
        d.pipeline,
        d.context AS shares,
        d.data,
        d.expert,
        r.phase = 'prefill' AS is_prefill,
        r.chunk_count,
        CASE WHEN r.phase = 'prefill' THEN CAST(d.context AS DOUBLE) ELSE 1e0 END AS token_shares,
        CASE WHEN d.tensor > 1 THEN l.collective_call_s ELSE 0e0 END AS tensor_call_s,
        w.layers,
        w.layer_factor,
        w.stage_share,
        w.whole_parts,
        w.layer_byte + w.own_expert_byte + w.end_byte AS weight_byte,
        y.forward_reduce_byte,
        y.forward_reduce_count,
        y.block_gather_byte,
        y.block_gather_count,
        y.end_reduce_byte,
        y.end_reduce_count,
        y.end_gather_byte,
        y.end_gather_count,
        y.forward_exchange_byte,
        y.forward_exchange_count,
        y.hidden_byte,
        m.kv_cache_byte,
        m.buffer_byte,
        m.activation_byte + m.rounding_byte + m.workspace_byte AS activation_byte,
        m.reserve_fraction,
        l.interconnect,
        l.device_count,
        l.collective_call_s,
        l.tensor_byte_per_s,
        l.tensor_step_s,
        l.context_byte_per_s,
        l.context_step_s,
        l.expert_byte_per_s,
        l.expert_step_s,
        l.send_byte_per_s,
        l.send_s AS message_s,
        -- Of what tokens of one replica meet, a device reads its part of what those of all meet.
        COALESCE(
            (1e0 - POWER(1e0 - g.expert_met_fraction, d.expert)) / NULLIF(g.expert_met_fraction * d.expert, 0e0), 1e0
        ) AS expert_factor
    FROM served_sum AS g
    INNER JOIN run AS r
        ON r.model = g.model AND r.backend = g.backend AND r.precision = g.precision AND r.batch = g.batch
        AND r.sequence = g.sequence AND r.scenario_id = g.scenario_id
    INNER JOIN device_split AS d ON d.tensor = r.device_count
    INNER JOIN split_weight AS w
        ON w.model = g.model AND w.backend = g.backend AND w.precision = g.precision AND w.batch = g.batch
        AND w.sequence = g.sequence AND w.scenario_id = g.scenario_id AND w.split = d.split
    INNER JOIN layered_run AS y
        ON y.model = g.model AND y.backend = g.backend AND y.precision = g.precision AND y.batch = g.batch
        AND y.sequence = g.sequence AND y.scenario_id = g.scenario_id
    INNER JOIN run_memory AS m
        ON m.model = g.model AND m.backend = g.backend AND m.precision = g.precision AND m.batch = g.batch
        AND m.sequence = g.sequence AND m.scenario_id = g.scenario_id
    INNER JOIN split_link AS l ON l.hardware = g.hardware AND l.split = d.split
    WHERE g.fault IS NULL AND r.weight_host_fraction = 0e0 AND r.cache_host_fraction = 0e0
),

spared_times AS (
    SELECT
        *,
        LEAST(expert_slack_s, expert_read_s * (1e0 - expert_factor)) AS spared_s,
        CASE WHEN is_prefill THEN 0e0 ELSE core_s * (1e0 - 1e0 / NULLIF(shares, 0)) END AS core_spared_s,
        ring_time(
            tensor, end_reduce_byte / NULLIF(token_shares, 0e0), end_reduce_count, 0e0, 0e0, tensor_byte_per_s, tensor_call_s,
            tensor_step_s
        ) AS first_link_s,
        ring_time(
            tensor, 0e0, 0e0, end_gather_byte, end_gather_count, tensor_byte_per_s, tensor_call_s, tensor_step_s
        ) AS last_link_s,
        (shares - 1e0) / NULLIF(shares, 0) * layer_factor * kv_cache_byte / NULLIF(context_byte_per_s, 0e0)
        + (shares - 1e0) * layers * context_step_s AS turn_s
    FROM joined_sums
),

layer_times AS (
    SELECT
        *,
        layer_factor * (layer_s - spared_s - core_spared_s) / NULLIF(token_shares, 0e0) AS layers_s,
        first_s / NULLIF(token_shares, 0e0) AS before_s,
        last_s / NULLIF(token_shares, 0e0) AS behind_s,
        ring_time(
            tensor, layer_factor * forward_reduce_byte / NULLIF(token_shares, 0e0), layer_factor * forward_reduce_count,
            layer_factor * block_gather_byte / NULLIF(token_shares, 0e0), layer_factor * block_gather_count, tensor_byte_per_s,
            tensor_call_s, tensor_step_s
        ) AS layer_tensor_s,
        CASE WHEN expert = 1 THEN 0e0 ELSE
            (expert - 1e0) / NULLIF(expert, 0) * layer_factor * forward_exchange_byte
            / NULLIF(token_shares * whole_parts * expert_byte_per_s, 0e0)
            + layer_factor * forward_exchange_count * (collective_call_s + (expert - 1e0) * expert_step_s)
        END AS layer_expert_s,
        CASE
            WHEN shares = 1 THEN 0e0
            WHEN is_prefill THEN GREATEST(0e0, turn_s - layer_factor * core_s / NULLIF(token_shares, 0e0))
            ELSE ring_time(
                shares, layers * hidden_byte / NULLIF(tensor, 0), layers, 0e0, 0e0, context_byte_per_s, collective_call_s,
                context_step_s
            )
        END AS layer_context_s
    FROM spared_times
),

stage_times AS (
    SELECT
        *,
        stage_share * layers_s + CASE
            WHEN pipeline = 1 THEN before_s + behind_s
            WHEN before_s + first_link_s >= behind_s + last_link_s THEN before_s
            ELSE behind_s
        END AS work_s,
        stage_share * layer_tensor_s + CASE
            WHEN pipeline = 1 THEN first_link_s + last_link_s
            WHEN before_s + first_link_s >= behind_s + last_link_s THEN first_link_s
            ELSE last_link_s
        END AS tensor_s,
        stage_share * layer_expert_s AS expert_s,
        stage_share * layer_context_s AS context_s,
        CASE
            WHEN pipeline = 1 THEN 0e0
            ELSE hidden_byte / NULLIF(token_shares * whole_parts * send_byte_per_s, 0e0) + chunk_count * message_s
        END AS send_s
    FROM layer_times
),

waiting_times AS (
    SELECT
        *,
        call_s + CASE
            WHEN dispatch = 'serial' THEN stage_share * host_s
            ELSE GREATEST(0e0, stage_share * host_s - work_s)
        END AS stage_host_s
    FROM stage_times
)

SELECT
    model,
    hardware,
    backend,
    precision,
    batch,
    sequence,
    scenario_id,
    split,
    interconnect,
    device_count,
    static_w,
    -- Kernels of a stage. [s]
    work_s,
    -- Collectives of tensor parallel. [s]
    tensor_s,
    -- Exchanges with experts. [s]
    expert_s,
    -- What context parallel sends, as far as attentions do not hide it. [s]
    context_s,
    -- What a stage sends the next. [s]
    send_s,
    -- Host time of the call of a stage, and what the device waits for the host. [s]
    stage_host_s AS host_s,
    -- All of that: from one run of the slowest stage to its next. [s]
    work_s + tensor_s + expert_s + context_s + send_s + stage_host_s AS pass_s,
    -- From the start of a run to its result: all stages, which chunks of a prompt go through one behind the other. [s]
    (work_s + tensor_s + expert_s + context_s + send_s + stage_host_s)
    * (1e0 + (pipeline - 1e0) / NULLIF(chunk_count, 0e0)) AS latency_s,
    -- Part of the layers' time in which arithmetic sets the pace. [s]
    stage_share * layer_factor * compute_s / NULLIF(token_shares, 0e0) AS compute_s,
    -- Part of it in which weights are read. [s]
    stage_share * layer_factor * (weight_s - spared_s) / NULLIF(token_shares, 0e0) AS weight_s,
    -- Part of it in which the key-value cache is read. [s]
    stage_share * layer_factor * cache_s / NULLIF(shares, 0) AS cache_s,
    -- Weights of experts that it reads. [byte]
    stage_share * layer_factor * expert_read_byte * expert_factor AS expert_read_byte,
    -- Energy of arithmetic and traffic of all devices for a run of each replica; null when a coefficient is missing. [J]
    data * layer_factor * dynamic_energy_j AS dynamic_energy_j,
    -- Weights that a device holds. [byte]
    weight_byte,
    -- Keys and values that it holds, of as many runs as there are stages. [byte]
    stage_share * layer_factor * pipeline * kv_cache_byte / NULLIF(shares, 0) AS kv_cache_byte,
    -- All that it holds. [byte]
    weight_byte + buffer_byte + stage_share * layer_factor * pipeline * kv_cache_byte / NULLIF(shares, 0)
    + activation_byte / NULLIF(token_shares, 0e0) AS peak_memory_byte,
    reserve_fraction
FROM waiting_times
