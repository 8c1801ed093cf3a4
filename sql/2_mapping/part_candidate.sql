-- How every operator part would sit on a part's units with every candidate tile of the family's strategies:
-- unit, tile, waves, utilization and the time the arithmetic takes at full clock. A kernel runs all its parts
-- with one candidate, so those that are not matrix products appear beside each candidate of their kernel.
-- GPU and CPU: output tiles spread over the units in waves (CUTLASS efficient GEMM, wave quantization).
-- TPU: weight-stationary passes of max(M, rows) cycles (kpu_dft). KPU: output-stationary wavefront,
-- K + R + C - 2 cycles for one tile and max(K, R) more for each that follows (kpu_tilesched).
-- Direct: narrow products (grouped convolutions, few channels) without padding, on the vector units.
-- Query blocks: PyTorch's fused attention on processors, whose threads each take neighbouring blocks of queries and bring
-- keys and values into the product's order anew for every block (FlashAttentionKernel.cpp).
-- Grain: model_id, scenario_id, hardware_id, subgraph_id, operator_id, part, candidate
CREATE VIEW part_candidate (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part of hardware.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Operator.
    operator_id,
    -- Step of the operator.
    part,
    -- Number of the candidate tile; 0 in a kernel without a matrix product.
    candidate,
    -- Class of the operator.
    operator_class,
    -- Parts of the kernel: a candidate that does not suit them all is out.
    part_count,
    -- `matrix` (tensor cores, AMX, MXU, PE array) or `vector`.
    unit,
    -- Element type the unit computes in.
    executed_precision,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Independent output elements.
    threads,
    -- Accesses that a thread of PyTorch's GPU kernel makes one after another; 0 where each makes its own.
    steps,
    -- Peak of the whole part on that unit. [ops/s]
    peak_ops_per_s,
    -- Peak of one unit. [ops/s]
    unit_ops_per_s,
    -- Energy of an operation; null when unknown. [J]
    op_j,
    -- Tiling strategy; null for parts that are not matrix products.
    strategy,
    -- Rows of the tile; null for parts that are not matrix products.
    tile_m,
    -- Columns of the tile; null for parts that are not matrix products.
    tile_n,
    -- Depth of the tile; null for parts that are not matrix products.
    tile_k,
    -- Tiles, or blocks of threads.
    tile_count,
    -- Units that get work.
    units_allocated,
    -- Rounds in which all tiles are done.
    waves,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Share of the tile's time in which the pipeline is full.
    pipelining_fraction,
    -- Bytes the tiles load from the last-level cache, operands again for every tile. [byte]
    reload_byte,
    -- Bytes the tile keeps next to its unit. [byte]
    tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    ideal_compute_s
) AS
WITH counted_parts AS (
    SELECT
        *,
        COUNT(*) OVER (PARTITION BY model_id, scenario_id, subgraph_id) AS part_count,
        MAX(part_class = 'gemm') OVER (PARTITION BY model_id, scenario_id, subgraph_id) AS has_product,
        MAX(CASE WHEN operator_class = 'attention' AND part = 'qk' THEN m / NULLIF(sharing, 0e0) END)
            OVER (PARTITION BY model_id, scenario_id, subgraph_id) AS query_count,
        MAX(CASE WHEN operator_class = 'attention' AND part = 'qk' THEN gemm_count * sharing END)
            OVER (PARTITION BY model_id, scenario_id, subgraph_id) AS query_heads
    FROM kernel_part
),

rate_on_target AS (
    SELECT
        t.model_id,
        t.scenario_id,
        r.*,
        -- A backend that may sum in half precision does so where that is not slower: Pascal's rate is a 64th.
        t.sums_in_half AND r.vector_ops_per_s >= COALESCE(r.single_vector_ops_per_s, 0e0) AS is_half
    FROM target AS t
    INNER JOIN hardware_rate AS r ON r.hardware_id = t.hardware_id
),

part_on_target AS (
    SELECT
        kp.model_id,
        kp.scenario_id,
        t.hardware_id,
        kp.subgraph_id,
        kp.operator_id,
        kp.part,
        kp.part_class,
        kp.operator_class,
        kp.macs,
        kp.flops,
        kp.threads,
        kp.steps,
        kp.m,
        kp.n,
        kp.k,
        kp.gemm_count,
        kp.sharing,
        kp.query_count,
        kp.query_heads,
        kp.part_count,
        kp.has_product,
        CASE
            WHEN kp.query_count IS NULL OR h.family <> 'cpu' OR NOT t.calls_aten THEN 0
            -- A file from before they were known keeps its square blocks.
            WHEN NOT EXISTS (SELECT 1 FROM tiling_strategy WHERE dataflow = 'query_block') THEN 0
            WHEN kp.query_count < 192e0 THEN 32
            WHEN kp.query_count < 768e0 THEN 64
            ELSE 256
        END AS query_block,
        h.family,
        h.unit_count AS chip_unit_count,
        h.lanes,
        r.matrix_unit_count,
        r.matrix_array_rows AS array_rows,
        r.matrix_array_columns AS array_columns,
        h.tile_memory_byte,
        h.tile_memory_byte_per_s,
        h.clock_hz,
        h.matrix_instruction,
        pr.bits / 8e0 AS element_byte,
        r.matrix_ops_per_s,
        r.matrix_precision,
        r.matrix_op_j,
        CASE WHEN r.is_half THEN r.vector_ops_per_s ELSE r.single_vector_ops_per_s END AS vector_ops_per_s,
        CASE WHEN r.is_half THEN r.vector_precision ELSE r.single_vector_precision END AS vector_precision,
        CASE WHEN r.is_half THEN r.vector_op_j ELSE r.single_vector_op_j END AS vector_op_j
    FROM counted_parts AS kp
    INNER JOIN target AS t ON t.model_id = kp.model_id AND t.scenario_id = kp.scenario_id
    INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
    INNER JOIN rate_on_target AS r
        ON r.model_id = t.model_id AND r.scenario_id = t.scenario_id AND r.hardware_id = t.hardware_id
        AND r.precision = kp.precision
    INNER JOIN precision AS pr ON pr.precision = kp.precision
),

strategies AS (
    SELECT
        *,
        dataflow IN ('weight_stationary', 'wavefront') AS is_systolic,
        CASE WHEN dataflow = 'query_block' THEN tile_m ELSE 0 END AS query_block
    FROM tiling_strategy
),

fitted_candidates AS (
    SELECT
        p.*,
        -- Arrays may belong to some of the units only.
        CASE WHEN p.part_class = 'gemm' AND s.is_systolic
            THEN COALESCE(p.matrix_unit_count, p.chip_unit_count) ELSE p.chip_unit_count END AS unit_count,
        COALESCE(s.candidate, 0) AS candidate,
        -- Vector units have no array: what the arrays cannot compute is spread over them like any other work.
        CASE WHEN p.part_class = 'gemm' AND (p.matrix_ops_per_s IS NOT NULL OR NOT s.is_systolic)
            THEN s.strategy END AS strategy,
        s.dataflow,
        s.is_systolic,
        CAST(s.split_k AS DOUBLE) AS split_k,
        CAST(s.divisor AS DOUBLE) AS divisor,
        s.stages,
        COALESCE(CAST(s.step_k AS DOUBLE), s.tile_k) AS step_k,
        s.fill_k,
        s.fill_clock,
        s.exposed_fill,
        s.latency_clock,
        CASE WHEN p.part_class = 'gemm' THEN s.wave_quantization_fraction END AS wave_quantization_fraction,
        s.efficiency_fraction,
        s.fed_macs,
        -- The square block whose three double-buffered operands fit the core's own cache,
        -- 2 * T^2 * (b_A + b_B + b_acc) <= L2, a multiple of the vector width and never below it.
        GREATEST(
            p.lanes,
            FLOOR(SQRT(p.tile_memory_byte / NULLIF(2e0 * (2e0 * p.element_byte + 4e0), 0e0)) / NULLIF(p.lanes * s.divisor, 0e0))
            * p.lanes
        ) AS square_block,
        CAST(s.tile_m AS DOUBLE) AS listed_m,
        CAST(s.tile_n AS DOUBLE) AS listed_n,
        CAST(s.tile_k AS DOUBLE) AS listed_k,
        -- A fused attention goes from one block of keys to the next with its pipeline full: the scores' tiles are
        -- continued by those of the product with the values, which pay once for each tile of queries.
        p.operator_class = 'attention' AND p.part = 'qk' AS is_continued,
        -- A matrix product runs on the matrix units where the part has them for its precision, unless the
        -- candidate is the direct one; everything else runs on the vector units.
        p.part_class = 'gemm' AND s.dataflow IS DISTINCT FROM 'direct' AND p.matrix_ops_per_s IS NOT NULL AS is_matrix
    FROM part_on_target AS p
    LEFT JOIN strategies AS s
        ON s.family = p.family AND s.query_block = p.query_block AND p.has_product
        AND COALESCE(s.matrix_instruction = p.matrix_instruction, TRUE)
        AND (s.dataflow <> 'direct' OR (p.vector_ops_per_s IS NOT NULL AND COALESCE(p.n, 0e0) <= s.tile_n))
),

rated_candidates AS (
    SELECT
        *,
        CASE WHEN is_matrix THEN matrix_ops_per_s ELSE COALESCE(vector_ops_per_s, matrix_ops_per_s) END
            AS peak_ops_per_s,
        CASE WHEN is_matrix THEN matrix_precision ELSE COALESCE(vector_precision, matrix_precision) END
            AS executed_precision,
        CASE WHEN is_matrix THEN matrix_op_j ELSE vector_op_j END AS op_j
    FROM fitted_candidates
),

sized_tiles AS (
    SELECT
        *,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN dataflow = 'weight_stationary' THEN CEIL(m / NULLIF(divisor, 0e0))
            WHEN dataflow = 'wavefront' THEN array_rows
            WHEN query_block > 0 THEN LEAST(listed_m, query_count)
            WHEN listed_m = 0 THEN LEAST(square_block, m)
            ELSE listed_m
        END AS tile_m,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN is_systolic THEN array_columns
            WHEN query_block > 0 THEN CEIL(LEAST(listed_n, n) / NULLIF(lanes, 0e0)) * lanes
            WHEN listed_n = 0 THEN LEAST(square_block, CEIL(n / NULLIF(lanes, 0e0)) * lanes)
            ELSE listed_n
        END AS tile_n,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN dataflow = 'weight_stationary' THEN array_rows
            WHEN dataflow = 'wavefront' THEN k
            WHEN query_block > 0 THEN LEAST(listed_k, k)
            WHEN listed_k = 0 THEN LEAST(square_block, k)
            ELSE listed_k
        END AS tile_k
    FROM rated_candidates
),

counted_tiles AS (
    SELECT
        *,
        CASE
            WHEN query_block > 0 THEN query_heads * CEIL(query_count / NULLIF(query_block, 0))
            -- A block of 256 threads is the grain at which vector work is spread over units.
            WHEN strategy IS NULL OR dataflow = 'direct' THEN GREATEST(1e0, CEIL(threads / 256e0))
            WHEN dataflow = 'weight_stationary'
                THEN gemm_count * CEIL(k / NULLIF(tile_k, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0))
                * CEIL(m / NULLIF(tile_m, 0e0))
            WHEN dataflow = 'wavefront' THEN gemm_count * CEIL(m / NULLIF(tile_m, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0))
            WHEN listed_m = 0 THEN gemm_count * CEIL(m / NULLIF(tile_m, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0))
            ELSE gemm_count * CEIL(m / NULLIF(tile_m, 0e0)) * CEIL(n / NULLIF(tile_n, 0e0)) * split_k
        END AS tile_count,
        peak_ops_per_s / NULLIF(unit_count, 0e0) AS unit_ops_per_s,
        peak_ops_per_s / NULLIF(2e0 * array_rows * array_columns * unit_count, 0e0) AS array_clock_hz
    FROM sized_tiles
),

fed_tiles AS (
    -- Small tiles reuse their operands less: what they lose is the share of the unit's pace at which the memory next
    -- to it can no longer bring them.
    SELECT
        *,
        efficiency_fraction / NULLIF(
            efficiency_fraction + (1e0 - efficiency_fraction) * LEAST(
                1e0, peak_ops_per_s * element_byte / NULLIF(2e0 * fed_macs * tile_memory_byte_per_s, 0e0)
            ), 0e0
        ) AS tile_efficiency_fraction
    FROM counted_tiles
),

waved_tiles AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(unit_count, 0e0)) AS waves,
        COALESCE(wave_quantization_fraction, 1e0) * CEIL(tile_count / NULLIF(unit_count, 0e0))
        + (1e0 - COALESCE(wave_quantization_fraction, 1e0)) * GREATEST(1e0, tile_count / NULLIF(unit_count, 0e0))
            AS effective_waves,
        2e0 * tile_m * tile_n * CEIL(k / NULLIF(step_k * split_k, 0e0)) * step_k
        / NULLIF(unit_ops_per_s * tile_efficiency_fraction, 0e0) AS steady_s,
        -- Filling and draining takes steps of the reduction, but on a unit of low rate no more than the memory's
        -- latency, where the clock is known (LEAST passes over nulls).
        CASE WHEN is_continued THEN 0e0 ELSE LEAST(
            2e0 * tile_m * tile_n * fill_k / NULLIF(unit_ops_per_s * tile_efficiency_fraction, 0e0),
            fill_clock / NULLIF(clock_hz, 0e0)
        ) END AS fill_s,
        CASE WHEN is_continued THEN 0e0 ELSE COALESCE(latency_clock / NULLIF(clock_hz, 0e0), 0e0) END AS latency_s
    FROM fed_tiles
),

overlapped_tiles AS (
    -- From the second wave on a unit works on other tiles of the kernel while one fills, where it holds several
    -- (LEAST passes over nulls).
    SELECT
        *,
        fill_s + (effective_waves - 1e0) * LEAST(fill_s, exposed_fill * steady_s) AS filling_s,
        -- Rows of the unit with most of them, whose blocks are neighbours: whole products, then part of one.
        CASE
            WHEN query_block > 0
                THEN FLOOR(waves / NULLIF(CEIL(query_count / NULLIF(query_block, 0)), 0e0)) * query_count
                + LEAST(waves % NULLIF(CEIL(query_count / NULLIF(query_block, 0)), 0e0) * query_block, query_count)
        END AS block_rows
    FROM waved_tiles
),

timed_candidates AS (
    SELECT
        *,
        CASE
            -- What is no product is shared as the products are.
            WHEN query_block > 0 AND strategy IS NULL
                THEN block_rows * flops / NULLIF(query_heads * query_count * unit_ops_per_s, 0e0)
            -- Each block takes as long as its threads, all alike, take on one unit: a partly filled last block
            -- costs a whole one, so that more threads never take less time.
            WHEN strategy IS NULL
                THEN effective_waves * flops * LEAST(1e0, 256e0 / GREATEST(threads, 1e0))
                / NULLIF(unit_ops_per_s, 0e0)
            WHEN dataflow = 'weight_stationary'
                THEN (
                    effective_waves * GREATEST(tile_m, array_rows)
                    + array_rows + array_columns - 2e0
                ) / NULLIF(array_clock_hz * efficiency_fraction, 0e0)
            WHEN dataflow = 'wavefront'
                THEN (
                    k + array_rows + array_columns - 2e0
                    + (effective_waves - 1e0) * GREATEST(k, array_rows)
                ) / NULLIF(array_clock_hz * efficiency_fraction, 0e0)
            WHEN dataflow = 'direct'
                THEN effective_waves * flops * LEAST(1e0, 256e0 / GREATEST(threads, 1e0))
                / NULLIF(vector_ops_per_s / NULLIF(unit_count, 0e0) * efficiency_fraction, 0e0)
            WHEN query_block > 0
                THEN 2e0 * (block_rows + waves * fill_k) * CEIL(n / NULLIF(lanes, 0e0)) * lanes * k
                / NULLIF(unit_ops_per_s * tile_efficiency_fraction, 0e0)
            WHEN listed_m = 0
                THEN effective_waves * 2e0 * tile_m * tile_n * k / NULLIF(unit_ops_per_s * tile_efficiency_fraction, 0e0)
            ELSE effective_waves * steady_s + filling_s + latency_s
        END AS candidate_s,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN 0e0
            ELSE element_byte * gemm_count
                * (m * k * CEIL(n / NULLIF(tile_n, 0e0)) + k * n * CEIL(m / NULLIF(tile_m, 0e0)))
        END AS reload_byte,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN 0e0
            ELSE stages * element_byte * (tile_m * LEAST(tile_k, k) + LEAST(tile_k, k) * tile_n)
                + 4e0 * tile_m * tile_n
        END AS tile_byte,
        CASE
            WHEN strategy IS NULL THEN 1e0
            WHEN dataflow = 'weight_stationary'
                THEN effective_waves * GREATEST(tile_m, array_rows)
                / NULLIF(
                    effective_waves * GREATEST(tile_m, array_rows)
                    + array_rows + array_columns - 2e0, 0e0
                )
            WHEN dataflow = 'wavefront'
                THEN effective_waves * k
                / NULLIF(
                    k + array_rows + array_columns - 2e0
                    + (effective_waves - 1e0) * GREATEST(k, array_rows), 0e0
                )
            WHEN query_block > 0 THEN block_rows / NULLIF(block_rows + waves * fill_k, 0e0)
            WHEN listed_m = 0 OR dataflow = 'direct' THEN 1e0
            ELSE effective_waves * steady_s / NULLIF(effective_waves * steady_s + filling_s, 0e0)
        END AS pipelining_fraction
    FROM overlapped_tiles
),

bounded_candidates AS (
    -- Biases and the like come on top of the product's tiles, at best at the peak.
    SELECT
        *,
        GREATEST(candidate_s, flops / NULLIF(peak_ops_per_s, 0e0)) AS ideal_compute_s
    FROM timed_candidates
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    operator_id,
    part,
    candidate,
    operator_class,
    part_count,
    CASE WHEN is_matrix THEN 'matrix' ELSE 'vector' END AS unit,
    executed_precision,
    macs,
    flops,
    threads,
    steps,
    peak_ops_per_s,
    unit_ops_per_s,
    op_j,
    strategy,
    tile_m,
    tile_n,
    tile_k,
    tile_count,
    LEAST(tile_count, unit_count) AS units_allocated,
    waves,
    LEAST(1e0, COALESCE(flops / NULLIF(peak_ops_per_s * ideal_compute_s, 0e0), 1e0)) AS utilization_fraction,
    pipelining_fraction,
    reload_byte,
    tile_byte,
    ideal_compute_s
FROM bounded_candidates
