-- Matrix products of every kernel with their tiles, and the share of their operands that comes from main memory: main-memory bytes
-- of the kernel, divided by the bytes of the products' operands, each counted once. Weights are separate from activations; a kernel
-- without weights multiplies two activations.
-- Grain: model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id, step_id
CREATE VIEW product_source AS
WITH sized_products AS (
    SELECT
        m.model,
        m.hardware,
        m.backend,
        m.precision,
        m.batch,
        m.sequence,
        m.scenario_id,
        m.kernel_id,
        m.step_id,
        m.operator,
        t.dataflow,
        t.split_k,
        m.tile_m,
        m.tile_n,
        m.tile_k,
        m.m,
        m.n,
        m.k,
        m.gemm_count,
        m.utilization_fraction,
        m.dram_byte,
        m.weight_byte,
        LEAST(m.dram_byte, (m.weight_byte + m.reread_weight_byte) * (1e0 - m.held_weight_fraction)) AS weight_dram_byte,
        -- Pixels that several windows share count once.
        m.element_byte * m.gemm_count * m.m * m.k * CASE
            WHEN m.taps > 1e0 THEN LEAST(1e0, m.image / NULLIF(m.gemm_count * m.m * m.k, 0e0))
            ELSE 1e0
        END AS product_input_byte,
        m.element_byte * m.gemm_count * m.k * m.n AS product_weight_byte,
        m.element_byte * m.gemm_count * m.m * m.n AS product_output_byte
    FROM mapped_step AS m
    INNER JOIN part_strategy AS t ON t.hardware = m.hardware AND t.candidate = m.candidate
    WHERE m.gemm_count IS NOT NULL
),

summed_kernels AS (
    SELECT
        model,
        hardware,
        backend,
        precision,
        batch,
        sequence,
        scenario_id,
        kernel_id,
        SUM(product_weight_byte) AS kernel_weight_byte,
        SUM(product_input_byte + product_output_byte) AS kernel_activation_byte
    FROM sized_products
    GROUP BY model, hardware, backend, precision, batch, sequence, scenario_id, kernel_id
)

SELECT
    p.model,
    p.hardware,
    p.backend,
    p.precision,
    p.batch,
    p.sequence,
    p.scenario_id,
    p.kernel_id,
    p.step_id,
    p.operator,
    p.dataflow,
    -- Number of slices into which split-K divides the depth between units.
    CAST(p.split_k AS BIGINT) AS split_k,
    p.tile_m,
    p.tile_n,
    p.tile_k,
    p.m,
    p.n,
    p.k,
    p.gemm_count,
    p.utilization_fraction,
    p.dram_byte,
    -- Ratio of main-memory bytes of activations to the bytes of inputs and results.
    (p.dram_byte - CASE WHEN p.weight_byte > 0e0 THEN p.weight_dram_byte ELSE 0e0 END)
    / NULLIF(k.kernel_activation_byte + CASE WHEN p.weight_byte > 0e0 THEN 0e0 ELSE k.kernel_weight_byte END, 0e0)
        AS activation_dram_fraction,
    -- Ratio of main-memory bytes of weights to the bytes of weights; in a kernel without weights, the ratio of all operands.
    CASE
        WHEN p.weight_byte > 0e0 THEN p.weight_dram_byte / NULLIF(k.kernel_weight_byte, 0e0)
        ELSE p.dram_byte / NULLIF(k.kernel_activation_byte + k.kernel_weight_byte, 0e0)
    END AS weight_dram_fraction
FROM sized_products AS p
INNER JOIN summed_kernels AS k
    ON k.model = p.model AND k.hardware = p.hardware AND k.backend = p.backend AND k.precision = p.precision
    AND k.batch = p.batch AND k.sequence = p.sequence AND k.scenario_id = p.scenario_id AND k.kernel_id = p.kernel_id
