-- How every operator part sits on a part's units: unit, tile, waves, utilization and the time the
-- arithmetic takes at full clock. Of the candidate tiles of the family's strategies the fastest wins,
-- which keeps time monotone in batch.
-- GPU and CPU: output tiles spread over the units in waves (CUTLASS efficient GEMM, wave quantization).
-- TPU: weight-stationary passes of max(M, rows) cycles (kpu_dft). KPU: output-stationary wavefront,
-- K + R + C - 2 cycles for one tile and max(K, R) more for each that follows (kpu_tilesched).
-- Direct: narrow products (grouped convolutions, few channels) without padding, on the vector units.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id, operator_id, part
CREATE VIEW part_mapping (
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
    -- Class of the operator.
    operator_class,
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
    -- Peak of the whole part on that unit. [ops/s]
    peak_ops_per_s,
    -- Peak of one unit. [ops/s]
    unit_ops_per_s,
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
    -- Bytes the chosen tile keeps next to its unit. [byte]
    tile_byte,
    -- Time of the arithmetic at full efficiency, utilization included. [s]
    ideal_compute_s
) AS
WITH part_on_target AS (
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
        kp.m,
        kp.n,
        kp.k,
        kp.gemm_count,
        h.family,
        h.unit_count,
        h.lanes,
        h.array_rows,
        h.array_columns,
        h.tile_memory_byte,
        h.tile_memory_byte_per_s,
        h.clock_hz,
        pr.bits / 8e0 AS element_byte,
        r.matrix_ops_per_s,
        r.matrix_precision,
        r.vector_ops_per_s,
        r.vector_precision
    FROM kernel_part AS kp
    INNER JOIN target AS t ON t.model_id = kp.model_id AND t.scenario_id = kp.scenario_id
    INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
    INNER JOIN hardware_rate AS r ON r.hardware_id = t.hardware_id AND r.precision = kp.precision
    INNER JOIN precision AS pr ON pr.precision = kp.precision
),

fitted_candidates AS (
    SELECT
        p.*,
        s.strategy,
        s.candidate,
        s.dataflow,
        CAST(s.split_k AS DOUBLE) AS split_k,
        CAST(s.divisor AS DOUBLE) AS divisor,
        s.stages,
        s.fill_k,
        s.fill_clock,
        s.latency_clock,
        s.wave_quantization_fraction,
        s.efficiency_fraction,
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
        -- A matrix product runs on the matrix units where the part has them for its precision, unless the
        -- candidate is the direct one; everything else runs on the vector units.
        p.part_class = 'gemm' AND s.dataflow IS DISTINCT FROM 'direct' AND p.matrix_ops_per_s IS NOT NULL AS is_matrix
    FROM part_on_target AS p
    LEFT JOIN tiling_strategy AS s
        ON s.family = p.family AND p.part_class = 'gemm'
        AND (s.dataflow <> 'direct' OR (p.vector_ops_per_s IS NOT NULL AND p.n <= s.tile_n))
),

rated_candidates AS (
    SELECT
        *,
        CASE WHEN is_matrix THEN matrix_ops_per_s ELSE COALESCE(vector_ops_per_s, matrix_ops_per_s) END
            AS peak_ops_per_s,
        CASE WHEN is_matrix THEN matrix_precision ELSE COALESCE(vector_precision, matrix_precision) END
            AS executed_precision
    FROM fitted_candidates
),

sized_tiles AS (
    SELECT
        *,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN dataflow = 'weight_stationary' THEN CEIL(m / NULLIF(divisor, 0e0))
            WHEN dataflow = 'wavefront' THEN array_rows
            WHEN listed_m = 0 THEN LEAST(square_block, m)
            ELSE listed_m
        END AS tile_m,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN dataflow IN ('weight_stationary', 'wavefront') THEN array_columns
            WHEN listed_n = 0 THEN LEAST(square_block, CEIL(n / NULLIF(lanes, 0e0)) * lanes)
            ELSE listed_n
        END AS tile_n,
        CASE
            WHEN strategy IS NULL OR dataflow = 'direct' THEN NULL
            WHEN dataflow = 'weight_stationary' THEN array_rows
            WHEN dataflow = 'wavefront' THEN k
            WHEN listed_k = 0 THEN LEAST(square_block, k)
            ELSE listed_k
        END AS tile_k
    FROM rated_candidates
),

counted_tiles AS (
    SELECT
        *,
        CASE
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

waved_tiles AS (
    SELECT
        *,
        CEIL(tile_count / NULLIF(unit_count, 0e0)) AS waves,
        COALESCE(wave_quantization_fraction, 1e0) * CEIL(tile_count / NULLIF(unit_count, 0e0))
        + (1e0 - COALESCE(wave_quantization_fraction, 1e0)) * GREATEST(1e0, tile_count / NULLIF(unit_count, 0e0))
            AS effective_waves,
        2e0 * tile_m * tile_n * CEIL(k / NULLIF(tile_k * split_k, 0e0)) * tile_k
        / NULLIF(unit_ops_per_s * efficiency_fraction, 0e0) AS steady_s,
        -- Filling and draining takes steps of the reduction, but on a unit of low rate no more than the memory's
        -- latency, where the clock is known (LEAST passes over nulls).
        LEAST(
            2e0 * tile_m * tile_n * fill_k / NULLIF(unit_ops_per_s * efficiency_fraction, 0e0),
            fill_clock / NULLIF(clock_hz, 0e0)
        ) AS fill_s
    FROM counted_tiles
),

timed_candidates AS (
    SELECT
        *,
        CASE
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
            WHEN listed_m = 0
                THEN effective_waves * 2e0 * tile_m * tile_n * k / NULLIF(unit_ops_per_s * efficiency_fraction, 0e0)
            ELSE effective_waves * steady_s + effective_waves * fill_s
                + COALESCE(latency_clock / NULLIF(clock_hz, 0e0), 0e0)
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
            WHEN listed_m = 0 OR dataflow = 'direct' THEN 1e0
            ELSE steady_s / NULLIF(steady_s + fill_s, 0e0)
        END AS pipelining_fraction
    FROM waved_tiles
),

ranked_candidates AS MATERIALIZED (
    -- A tile is as slow as its arithmetic or the loads of its operands; equal times fall to the lower
    -- candidate number. Materialized: DuckDB 2.0 would else push the choice below the candidates and plan for
    -- seconds.
    SELECT
        *,
        GREATEST(candidate_s, COALESCE(reload_byte / NULLIF(tile_memory_byte_per_s, 0e0), 0e0))
        * (1e0 + 1e-9 * COALESCE(candidate, 0)) AS ranked_s
    FROM timed_candidates
),

fastest_tiles AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        subgraph_id,
        operator_id,
        part,
        MAX(operator_class) AS operator_class,
        MIN_BY(CASE WHEN is_matrix THEN 'matrix' ELSE 'vector' END, ranked_s) AS unit,
        MIN_BY(executed_precision, ranked_s) AS executed_precision,
        MAX(macs) AS macs,
        MAX(flops) AS flops,
        MAX(threads) AS threads,
        MIN_BY(peak_ops_per_s, ranked_s) AS peak_ops_per_s,
        MIN_BY(unit_ops_per_s, ranked_s) AS unit_ops_per_s,
        MAX(unit_count) AS unit_count,
        MIN_BY(strategy, ranked_s) AS strategy,
        -- Without tiles the sizes are null, which MIN_BY would pass over.
        NULLIF(MIN_BY(COALESCE(tile_m, 0e0), ranked_s), 0e0) AS tile_m,
        NULLIF(MIN_BY(COALESCE(tile_n, 0e0), ranked_s), 0e0) AS tile_n,
        NULLIF(MIN_BY(COALESCE(tile_k, 0e0), ranked_s), 0e0) AS tile_k,
        MIN_BY(tile_count, ranked_s) AS tile_count,
        MIN_BY(waves, ranked_s) AS waves,
        MIN_BY(pipelining_fraction, ranked_s) AS pipelining_fraction,
        MIN_BY(reload_byte, ranked_s) AS reload_byte,
        MIN_BY(tile_byte, ranked_s) AS tile_byte,
        -- Biases and the like come on top of the product's tiles, at best at the peak.
        GREATEST(MIN_BY(candidate_s, ranked_s), MIN_BY(flops / NULLIF(peak_ops_per_s, 0e0), ranked_s)) AS ideal_compute_s
    FROM ranked_candidates
    GROUP BY model_id, scenario_id, hardware_id, subgraph_id, operator_id, part
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    operator_id,
    part,
    operator_class,
    unit,
    executed_precision,
    macs,
    flops,
    threads,
    peak_ops_per_s,
    unit_ops_per_s,
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
FROM fastest_tiles
