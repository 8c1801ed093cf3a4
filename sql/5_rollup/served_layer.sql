-- Times of a prefill or decode run of a language model on the devices of a split, for the layers and for the kernels before and
-- after the layers. The run states the degree of tensor parallelism, experts are distributed over replicas, and context parallelism
-- shares the tokens of a prompt or the KV cache of a decode step. Times are sums over all layers.
-- Grain: run, hardware, split
CREATE VIEW served_layer AS
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
        CASE WHEN r.phase = 'prefill' THEN 1e0 / NULLIF(device_share(r.run.sequence, d.context), 0e0) ELSE 1e0 END AS token_shares,
        device_share(r.context, d.context) AS cache_share,
        CASE WHEN d.tensor > 1 THEN l.collective_call_s ELSE 0e0 END AS tensor_call_s,
        w.layers,
        w.layer_factor,
        w.whole_parts,
        w.core_share,
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
        l.collective_call_s,
        l.tensor_byte_per_s,
        l.tensor_step_s,
        l.direct_byte_per_s,
        l.direct_call_s,
        r.merges_kernels AND l.direct_byte_per_s IS NOT NULL AS is_direct,
        l.context_byte_per_s,
        l.context_step_s,
        l.expert_byte_per_s,
        l.expert_step_s,
        l.send_byte_per_s,
        l.send_s AS message_s,
        m.kv_cache_byte,
        -- Ratio of the experts' weights that a device reads for the tokens of all replicas to the weights that it would read for
        -- one replica's tokens.
        COALESCE(
            (1e0 - POWER(1e0 - g.expert_met_fraction, d.expert)) * device_share(y.expert_count, d.expert)
            / NULLIF(g.expert_met_fraction, 0e0), 1e0
        ) AS expert_factor
    FROM served_sum AS g
    INNER JOIN run AS r ON r.run = g.run
    INNER JOIN device_split AS d ON d.tensor = r.device_count
    INNER JOIN split_weight AS w ON w.run = g.run AND w.split = d.split
    INNER JOIN layered_run AS y ON y.run = g.run
    INNER JOIN run_memory AS m ON m.run = g.run
    INNER JOIN split_link AS l ON l.hardware = g.hardware AND l.split = d.split
    WHERE g.fault IS NULL AND r.weight_host_fraction = 0e0 AND r.cache_host_fraction = 0e0
),

-- Times that the split saves and adds. Each replica reads the weights of those of its experts that receive tokens from any replica.
-- In prefill, context parallelism passes keys and values around a ring, overlapped with attention (Liu et al. 2023); in a decode
-- step it all-reduces partial attention results.
spared_times AS (
    SELECT
        *,
        LEAST(expert_slack_s, expert_read_s * (1e0 - expert_factor)) AS spared_s,
        CASE WHEN is_prefill THEN 0e0 ELSE core_s * (1e0 - cache_share) END AS core_spared_s,
        (shares - 1e0) / NULLIF(shares, 0) * layer_factor * kv_cache_byte / NULLIF(context_byte_per_s, 0e0)
        + (shares - 1e0) * layers * context_step_s AS turn_s
    FROM joined_sums
)

SELECT
    run,
    hardware,
    split,
    call_s,
    host_s,
    static_w,
    dispatch,
    -- Time of the kernels of the layers. [s]
    layer_factor * (layer_s - spared_s - core_spared_s) / NULLIF(token_shares, 0e0) AS layers_s,
    -- Time of the kernels before the layers. [s]
    first_s / NULLIF(token_shares, 0e0) AS before_s,
    -- Time of the kernels after the layers. [s]
    last_s / NULLIF(token_shares, 0e0) AS behind_s,
    -- Time of the collectives of tensor parallelism in the layers. [s]
    ring_time(
        tensor, CASE WHEN is_direct THEN 0e0 ELSE layer_factor * forward_reduce_byte / NULLIF(token_shares, 0e0) END,
        CASE WHEN is_direct THEN 0e0 ELSE layer_factor * forward_reduce_count END,
        layer_factor * block_gather_byte / NULLIF(token_shares, 0e0), layer_factor * block_gather_count, tensor_byte_per_s,
        tensor_call_s, tensor_step_s
    ) + CASE
        WHEN tensor = 1 OR NOT is_direct THEN 0e0
        ELSE direct_time(
            tensor, layer_factor * forward_reduce_byte / NULLIF(token_shares, 0e0), layer_factor * forward_reduce_count,
            direct_byte_per_s, direct_call_s
        )
    END AS tensor_s,
    -- Time of the collectives of tensor parallelism before the layers. [s]
    CASE
        WHEN tensor = 1 THEN 0e0
        WHEN is_direct
            THEN direct_time(tensor, end_reduce_byte / NULLIF(token_shares, 0e0), end_reduce_count, direct_byte_per_s, direct_call_s)
        ELSE ring_time(
            tensor, end_reduce_byte / NULLIF(token_shares, 0e0), end_reduce_count, 0e0, 0e0, tensor_byte_per_s, tensor_call_s, tensor_step_s
        )
    END AS before_tensor_s,
    -- Time of the collectives of tensor parallelism after the layers. [s]
    ring_time(tensor, 0e0, 0e0, end_gather_byte, end_gather_count, tensor_byte_per_s, tensor_call_s, tensor_step_s) AS behind_tensor_s,
    -- Time of the all-to-alls of expert parallelism. [s]
    CASE WHEN expert = 1 THEN 0e0 ELSE
        (expert - 1e0) / NULLIF(expert, 0) * layer_factor * forward_exchange_byte
        / NULLIF(token_shares * whole_parts * expert_byte_per_s, 0e0)
        + layer_factor * forward_exchange_count * (collective_call_s + (expert - 1e0) * expert_step_s)
    END AS expert_s,
    -- Time of context-parallel transfers that do not overlap with attention. [s]
    CASE
        WHEN shares = 1 THEN 0e0
        WHEN is_prefill THEN GREATEST(0e0, turn_s - layer_factor * core_s / NULLIF(token_shares, 0e0))
        ELSE ring_time(
            shares, layers * hidden_byte * core_share, layers, 0e0, 0e0, context_byte_per_s, collective_call_s, context_step_s
        )
    END AS context_s,
    -- Time of transfers from one pipeline stage to the next. [s]
    CASE
        WHEN pipeline = 1 THEN 0e0
        ELSE hidden_byte / NULLIF(token_shares * whole_parts * send_byte_per_s, 0e0) + chunk_count * message_s
    END AS send_s,
    -- Part of `layers_s` in which arithmetic sets the pace. [s]
    layer_factor * compute_s / NULLIF(token_shares, 0e0) AS compute_s,
    -- Part of `layers_s` in which weights are read. [s]
    layer_factor * (weight_s - spared_s) / NULLIF(token_shares, 0e0) AS weight_s,
    -- Part of `layers_s` in which the KV cache is read. [s]
    layer_factor * cache_s * cache_share AS cache_s,
    -- Bytes of experts' weights that a device reads in all layers. [byte]
    layer_factor * expert_read_byte * expert_factor AS expert_read_byte,
    -- Energy of arithmetic and traffic of all devices for one run of each replica; null when a coefficient is missing. [J]
    data * layer_factor * dynamic_energy_j AS dynamic_energy_j
FROM spared_times
