-- Prefill or decode run of a language model on the devices of every split: the time of a pipeline stage for its part of the run,
-- the terms of this time, and the memory of a device. In a pipeline, the kernels before the layers and those after the layers are
-- in different stages; the slower stage counts.
-- Grain: run, hardware, split
CREATE VIEW served_split AS
WITH joined_layers AS (
    SELECT
        b.*,
        d.pipeline,
        device_share(r.context, d.context) AS cache_share,
        CASE WHEN r.phase = 'prefill' THEN 1e0 / NULLIF(device_share(r.run.sequence, d.context), 0e0) ELSE 1e0 END AS token_shares,
        r.chunk_count,
        w.stage_share,
        w.layer_factor,
        w.layer_byte + w.own_expert_byte + w.end_byte AS weight_byte,
        m.kv_cache_byte,
        m.buffer_byte,
        m.activation_byte + m.rounding_byte + m.workspace_byte AS activation_byte,
        m.reserve_fraction,
        l.interconnect,
        l.device_count,
        b.before_s + b.before_tensor_s >= b.behind_s + b.behind_tensor_s AS is_first_slower
    FROM served_layer AS b
    INNER JOIN device_split AS d ON d.split = b.split
    INNER JOIN run AS r ON r.run = b.run
    INNER JOIN split_weight AS w ON w.run = b.run AND w.split = b.split
    INNER JOIN run_memory AS m ON m.run = b.run
    INNER JOIN split_link AS l ON l.hardware = b.hardware AND l.split = b.split
),

stage_times AS (
    SELECT
        * EXCLUDE (tensor_s, expert_s, context_s),
        stage_share * layers_s + CASE
            WHEN pipeline = 1 THEN before_s + behind_s
            WHEN is_first_slower THEN before_s
            ELSE behind_s
        END AS work_s,
        stage_share * tensor_s + CASE
            WHEN pipeline = 1 THEN before_tensor_s + behind_tensor_s
            WHEN is_first_slower THEN before_tensor_s
            ELSE behind_tensor_s
        END AS stage_tensor_s,
        stage_share * expert_s AS stage_expert_s,
        stage_share * context_s AS stage_context_s
    FROM joined_layers
),

passes AS (
    SELECT
        *,
        call_s + CASE
            WHEN dispatch = 'serial' THEN stage_share * host_s
            ELSE GREATEST(0e0, stage_share * host_s - work_s)
        END AS stage_host_s
    FROM stage_times
)

SELECT
    run,
    hardware,
    split,
    interconnect,
    device_count,
    static_w,
    -- Time of the kernels of a pipeline stage. [s]
    work_s,
    -- Time of the stage's collectives of tensor parallelism. [s]
    stage_tensor_s AS tensor_s,
    -- Time of the stage's all-to-alls of expert parallelism. [s]
    stage_expert_s AS expert_s,
    -- Time of context-parallel transfers. [s]
    stage_context_s AS context_s,
    send_s,
    -- Host time of the stage's call, plus the time that the device waits for the host. [s]
    stage_host_s AS host_s,
    -- Time from one run of the slowest stage to the stage's next run: the sum of the terms above and `send_s`. [s]
    work_s + stage_tensor_s + stage_expert_s + stage_context_s + send_s + stage_host_s AS pass_s,
    -- Latency of a run: time from its start to its result through all stages; chunks of a prompt pass through a stage one after
    -- another. [s]
    (work_s + stage_tensor_s + stage_expert_s + stage_context_s + send_s + stage_host_s)
    * (1e0 + (pipeline - 1e0) / NULLIF(chunk_count, 0e0)) AS latency_s,
    -- Part of `work_s` in which arithmetic of the layers sets the pace. [s]
    stage_share * compute_s AS compute_s,
    -- Part of `work_s` in which the layers' weights are read. [s]
    stage_share * weight_s AS weight_s,
    -- Part of `work_s` in which the KV cache is read. [s]
    stage_share * cache_s AS cache_s,
    -- Bytes of experts' weights that a device reads. [byte]
    stage_share * expert_read_byte AS expert_read_byte,
    dynamic_energy_j,
    -- Size of the weights on a device. [byte]
    weight_byte,
    -- Size of the KV cache on a device, for one run per stage. [byte]
    stage_share * layer_factor * pipeline * kv_cache_byte * cache_share AS kv_cache_byte,
    -- Size of the weights, buffers, KV cache and activations on a device. [byte]
    weight_byte + buffer_byte + stage_share * layer_factor * pipeline * kv_cache_byte * cache_share
    + activation_byte / NULLIF(token_shares, 0e0) AS peak_memory_byte,
    reserve_fraction
FROM passes
