-- Training step on several devices: every split of a training run on every part, with the terms of the step's time, the memory of
-- each device, and the model FLOPs utilization, which by convention counts three forward passes and no recomputation (Korthikanti
-- et al. 2022). The run is one micro batch.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, split
CREATE VIEW training_step AS
WITH steps AS (
    SELECT
        s.*,
        l.interconnect,
        l.device_count,
        m.weight_byte,
        m.gradient_byte,
        m.optimizer_byte,
        m.activation_byte,
        m.scratch_byte,
        m.peak_memory_byte,
        CASE WHEN x.backend IS NULL THEN 0e0 ELSE x.context_byte END AS context_byte,
        h.dram_byte AS device_byte,
        h.is_simulated,
        CASE
            WHEN NOT COALESCE(f.is_impossible, FALSE)
                THEN occupied_byte(m.peak_memory_byte, 0e0, h.dram_byte, x.backend, x.context_byte) <= h.dram_byte
        END AS fits_device,
        f.implausible,
        y.framework,
        p.price_usd_per_hour,
        s.run.batch * d.micro_batches * d.data AS global_batch,
        2e0 * d.micro_batches * d.data * CASE
            WHEN d.adapter_rank IS NOT NULL THEN 2e0 * (m.layer_factor * t.block_macs + t.end_macs)
            WHEN t.is_frozen THEN m.layer_factor * (t.block_macs + t.block_backward_macs) + t.end_macs + t.end_backward_macs
            ELSE (2e0 + 1e0) * (m.layer_factor * t.block_macs + t.end_macs)
        END AS model_flops,
        2e0 * d.micro_batches * d.data * (
            m.layer_factor * (
                CASE d.recompute WHEN 'full' THEN t.block_macs WHEN 'selective' THEN t.core_macs ELSE 0e0 END + t.block_repeated_macs
            ) + t.end_repeated_macs
        ) AS repeated_flops,
        s.compute_s + s.recompute_s + s.tensor_s + s.expert_s + s.context_s + s.send_s + s.bubble_s + s.host_s + s.data_s
        + s.optimizer_s AS all_s,
        s.tensor_s + s.expert_s + s.context_s + s.send_s + s.data_s AS links_s
    FROM split_step AS s
    INNER JOIN device_split AS d ON d.split = s.split
    INNER JOIN split_link AS l ON l.hardware = s.hardware AND l.split = s.split
    INNER JOIN split_memory AS m ON m.run = s.run AND m.split = s.split
    INNER JOIN trained_run AS t ON t.run = s.run
    INNER JOIN part AS h ON h.hardware = s.hardware
    LEFT JOIN part_context AS x ON x.hardware = s.hardware AND x.backend = s.run.backend
    LEFT JOIN part_price AS p ON p.hardware = s.hardware
    INNER JOIN split_framework AS y ON y.backend = s.run.backend AND y.split = s.split
    LEFT JOIN split_fault AS f ON f.backend = s.run.backend AND f.split = s.split
)

SELECT
    s.run.model,
    s.hardware,
    s.run.backend,
    s.run.precision,
    s.run.batch,
    s.run.sequence,
    s.run.scenario_id,
    s.split,
    s.framework,
    d.tensor,
    d.pipeline,
    d.interleave,
    d.context,
    d.data,
    d.expert,
    d.micro_batches,
    d.zero_stage,
    d.recompute,
    d.is_sequence_parallel,
    d.optimizer,
    d.adapter_rank,
    d.frozen_precision,
    s.interconnect,
    s.device_count,
    -- Number of samples in a step.
    CAST(s.global_batch AS BIGINT) AS global_batch,
    -- Time of a step: the sum of the terms below except `sync_s`; null if the split does not fit. [s]
    CASE WHEN s.fits_device THEN s.all_s END AS step_s,
    s.compute_s,
    s.recompute_s,
    s.tensor_s,
    s.expert_s,
    s.context_s,
    s.send_s,
    s.bubble_s,
    s.host_s,
    s.data_s,
    s.optimizer_s,
    s.sync_s,
    -- Tokens trained per second; null for a model without a sequence, or if the split does not fit. [1/s]
    CASE WHEN s.fits_device AND s.run.sequence > 1 THEN s.global_batch * s.run.sequence / NULLIF(s.all_s, 0e0) END AS tokens_per_s,
    -- Samples trained per second; null if the split does not fit. [1/s]
    CASE WHEN s.fits_device THEN s.global_batch / NULLIF(s.all_s, 0e0) END AS samples_per_s,
    -- Model FLOPs utilization: ratio of `model_flops` per second to the dense peak; null if the split does not fit.
    CASE WHEN s.fits_device THEN s.model_flops / NULLIF(s.all_s * s.device_count * s.dense_ops_per_s, 0e0) END AS mfu_fraction,
    -- Hardware FLOPs utilization: ratio of `model_flops` plus recomputed operations per second to the dense peak; null if the split
    -- does not fit.
    CASE
        WHEN s.fits_device
            THEN (s.model_flops + s.repeated_flops) / NULLIF(s.all_s * s.device_count * s.dense_ops_per_s, 0e0)
    END AS hfu_fraction,
    -- Number of operations of a step by the convention of papers: three forward passes, or two with adapters; for a model with some
    -- frozen weights, the operations of its forward and backward passes.
    s.model_flops,
    -- Number of operations of a step that recomputation adds.
    s.repeated_flops,
    s.weight_byte,
    s.gradient_byte,
    s.optimizer_byte,
    s.activation_byte,
    s.scratch_byte,
    s.peak_memory_byte,
    -- Memory of the process's context, which a device needs in addition to the split's (`part_context`); 0 for a backend without a row,
    -- null when unknown. [byte]
    s.context_byte,
    -- Capacity of the part's main memory. [byte]
    s.device_byte,
    -- True if the split fits the part's main memory together with the context of the process (`part_context`); null if a rule of
    -- the split is impossible.
    s.fits_device,
    -- Implausible or impossible rules of the split (`implausible_number`); else null.
    s.implausible,
    -- Cause of the largest part of the time: `compute`, `recompute`, `links`, `bubble`, `host` or `optimizer`; null if the split
    -- does not fit.
    CASE
        WHEN NOT COALESCE(s.fits_device, FALSE) THEN NULL
        WHEN s.compute_s >= GREATEST(s.recompute_s, s.links_s, s.bubble_s, s.host_s, s.optimizer_s) THEN 'compute'
        WHEN s.links_s >= GREATEST(s.recompute_s, s.bubble_s, s.host_s, s.optimizer_s) THEN 'links'
        WHEN s.bubble_s >= GREATEST(s.recompute_s, s.host_s, s.optimizer_s) THEN 'bubble'
        WHEN s.host_s >= GREATEST(s.recompute_s, s.optimizer_s) THEN 'host'
        WHEN s.optimizer_s >= s.recompute_s THEN 'optimizer'
        ELSE 'recompute'
    END AS step_limit,
    -- Energy of all devices; null if the split does not fit or a coefficient is missing. [J]
    CASE WHEN s.fits_device THEN s.dynamic_energy_j + s.device_count * s.static_w * s.all_s END AS energy_j,
    -- Price of all devices for a million tokens; null for a model without a sequence, if the split does not fit or the price is
    -- unknown. [USD]
    CASE
        WHEN s.fits_device AND s.run.sequence > 1
            THEN s.price_usd_per_hour / 3600e0 * s.device_count * s.all_s * 1e6 / NULLIF(s.global_batch * s.run.sequence, 0)
    END AS million_tokens_usd,
    -- Price of all devices for a million samples; null if the split does not fit or the price is unknown. [USD]
    CASE WHEN s.fits_device THEN s.price_usd_per_hour / 3600e0 * s.device_count * s.all_s * 1e6 / NULLIF(s.global_batch, 0) END
        AS million_samples_usd,
    s.is_simulated
FROM steps AS s
INNER JOIN device_split AS d ON d.split = s.split
