-- Device time and dynamic energy of every kernel on every target, with each quantity they come from.
-- Roofline (Williams et al. 2009) per memory level: the slower of arithmetic and memory, plus the share
-- of the faster that does not overlap. A kernel's inputs from earlier kernels and its outputs are served by the
-- last-level cache where it holds them together. Where the backend leaves short loops to few threads, the bandwidth of
-- these bounds them; all but one thread's wait for their team to begin and end. Of the candidate tiles the one that makes
-- the kernel fastest wins, which keeps time monotone in batch (but for a sample that ATen misreads, `convolution_call`,
-- and where a loop passes from one thread to all) and in every resource.
-- Average power cannot exceed the part's, so device_s >= dynamic_energy_j / (tdp_w - static_w) where the power is known.
-- Grain: model_id, scenario_id, hardware_id, subgraph_id
CREATE VIEW kernel_cost (
    -- Model.
    model_id,
    -- Scenario.
    scenario_id,
    -- Part.
    hardware_id,
    -- Kernel.
    subgraph_id,
    -- Place in the order of execution.
    position,
    -- Readable name.
    subgraph,
    -- Class of its anchor operator.
    kernel_class,
    -- Operator that gives it its character.
    anchor_operator_id,
    -- Element type its anchor is asked to compute in.
    precision,
    -- How its anchor's tensors lie in memory: `nchw`, `nhwc` or `strided`, on Intel's processors also `aliased`
    -- (`linear_call`).
    layout,
    -- Views the host dispatches before it.
    view_count,
    -- ATen operator of its anchor where that has efficiencies of its own, or `*`; `aten._slow_conv2d_forward` for a
    -- convolution that PyTorch on a processor runs as a matrix product of its own.
    operator_name,
    -- Multiply-accumulates.
    macs,
    -- Operations.
    flops,
    -- Independent output elements of its widest part.
    threads,
    -- Units whose threads run it, on average; fewer than the part's where the backend leaves a short loop to few.
    team_size,
    -- `matrix` or `vector`: the unit of its slowest part.
    unit,
    -- Element type its slowest part computes in.
    executed_precision,
    -- Number of the candidate tile it runs with; 0 without a matrix product.
    candidate,
    -- Tiling strategy of its slowest part; null without a matrix product.
    strategy,
    -- Rows of the tile; null without a matrix product.
    tile_m,
    -- Columns of the tile; null without a matrix product.
    tile_n,
    -- Depth of the tile; null without a matrix product.
    tile_k,
    -- Tiles, or blocks of threads.
    tile_count,
    -- Units that get work.
    units_allocated,
    -- Units of the part.
    unit_count,
    -- Rounds in which all tiles are done.
    waves,
    -- Share of the peak that shape and wave quantization leave.
    utilization_fraction,
    -- Share of the tile's time in which the pipeline is full.
    pipelining_fraction,
    -- Bytes the chosen tile keeps next to its unit. [byte]
    tile_byte,
    -- Peak arithmetic rate of the unit used. [ops/s]
    peak_ops_per_s,
    -- Share of the tiles' pace the kernel class reaches at this size; above 1 where the library's tiles lose less.
    compute_efficiency_fraction,
    -- Share of the peak bandwidth the kernel class reaches at this size.
    memory_efficiency_fraction,
    -- Everything that crosses the kernel's border, and what a domain-flow chain moves besides (`chain_cut`). [byte]
    traffic_byte,
    -- Links of a domain-flow chain that do not fit on chip.
    cut_count,
    -- Weights read. [byte]
    weight_byte,
    -- Outputs written. [byte]
    output_byte,
    -- Part of the traffic the last-level cache serves. [byte]
    resident_byte,
    -- Traffic of main memory: all traffic less what the last-level cache serves. [byte]
    dram_byte,
    -- Traffic of the last-level cache. [byte]
    cache_byte,
    -- Traffic of the memories next to the units: operands again for every tile. [byte]
    reload_byte,
    -- Written and read again by the library at every call: weights and images in its own order, results that are to
    -- hold a bias, weights whose rows evict one another. [byte]
    reorder_byte,
    -- Time of the matrix units: operations over peak, utilization and efficiency. [s]
    matrix_s,
    -- Time of the vector units: operations over peak, utilization and efficiency. [s]
    vector_s,
    -- Time of the arithmetic: the slower of the two kinds of unit, at least naive_s. [s]
    compute_s,
    -- Time of main memory: dram_byte over peak bandwidth and memory efficiency. [s]
    dram_s,
    -- Time of the last-level cache: all traffic over its bandwidth and memory efficiency; 0 when its bandwidth is unknown or it has none. [s]
    cache_s,
    -- Time of the memories next to the units: reload_byte over their bandwidth; 0 when that is unknown. [s]
    reload_s,
    -- Time of the accesses that each thread of PyTorch's GPU kernel makes one after another; 0 where others answer
    -- for it. [s]
    latency_bound_s,
    -- Time in which few threads move all traffic, at their share of the bandwidth; 0 where all do or nothing is known of
    -- threads. [s]
    thread_s,
    -- Time of the slowest memory level. [s]
    memory_s,
    -- Level of memory_s: `dram`, the last-level cache or the tile memory; `latency` where latency_bound_s is longest,
    -- `thread` where thread_s is.
    memory_level,
    -- The part of the faster of compute_s and memory_s that does not overlap. [s]
    serial_s,
    -- Time of what the library writes and reads again: reorder_byte over peak bandwidth and its efficiency; 0 where
    -- operands are used as they lie. [s]
    reorder_s,
    -- Fresh pages that the system hands out for it. [byte]
    paged_byte,
    -- Time in which the system hands out fresh pages: paged_byte over peak bandwidth and its efficiency. [s]
    paging_s,
    -- Time in which the team of threads begins and ends; 0 for one thread and where nothing is known of threads. [s]
    team_s,
    -- Least time the power limit allows; null when the power is unknown. [s]
    power_s,
    -- Time the kernel keeps the device busy: the larger of compute_s and memory_s plus serial_s, reorder_s, paging_s and
    -- team_s, never below power_s. [s]
    busy_s,
    -- True when the power limit, nothing else, sets busy_s.
    is_power_bound,
    -- Device time between this kernel and the one before. [s]
    kernel_gap_s,
    -- busy_s plus kernel_gap_s. [s]
    device_s,
    -- Time at the peak of all units with no memory: the naive figure. [s]
    naive_s,
    -- Roofline bound: work at peak against unique traffic at peak bandwidth. [s]
    roofline_s,
    -- Energy of the arithmetic; null when a coefficient is missing. [J]
    compute_energy_j,
    -- Energy of main memory traffic; null when a coefficient is missing. [J]
    dram_energy_j,
    -- Energy of on-chip traffic; null when a coefficient is missing. [J]
    cache_energy_j,
    -- Static power of the part; null when a coefficient is missing. [W]
    static_w,
    -- Power the part may draw; null when unknown. [W]
    tdp_w
) AS
WITH energy_coefficients AS (
    SELECT
        h.hardware_id,
        MAX(CASE WHEN e.what = 'byte' AND e.key = 'dram' THEN e.value END) AS dram_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = h.cache_level THEN e.value END) AS cache_j_per_byte,
        MAX(CASE WHEN e.what = 'byte' AND e.key = h.tile_memory_level THEN e.value END) AS tile_j_per_byte,
        MAX(CASE WHEN e.what = 'static' THEN e.value END) AS static_w
    FROM hardware_unit AS h
    LEFT JOIN energy_profile AS e ON e.hardware_id = h.hardware_id
    GROUP BY h.hardware_id
),

paced_parts AS MATERIALIZED (
    SELECT
        *,
        -- Of parts that take equally long the better used one speaks for the kernel, then the one of fewer tiles.
        -- Materialized: DuckDB 2.0 would else push the sums below the candidates and plan for seconds.
        ideal_compute_s * (1e0 + 1e-9 * utilization_fraction - 1e-13 * LN(GREATEST(1e0, tile_count))) AS pace_s
    FROM part_candidate
),

summed_parts AS (
    SELECT
        model_id,
        scenario_id,
        hardware_id,
        subgraph_id,
        candidate,
        SUM(macs) AS macs,
        SUM(flops) AS flops,
        MAX(threads) AS threads,
        MAX(steps) AS steps,
        MAX_BY(unit, pace_s) AS unit,
        MAX_BY(executed_precision, pace_s) AS executed_precision,
        MAX_BY(strategy, pace_s) AS strategy,
        MAX_BY(tile_m, pace_s) AS tile_m,
        MAX_BY(tile_n, pace_s) AS tile_n,
        MAX_BY(tile_k, pace_s) AS tile_k,
        MAX_BY(tile_count, pace_s) AS tile_count,
        MAX(units_allocated) AS units_allocated,
        MAX_BY(waves, pace_s) AS waves,
        MAX_BY(utilization_fraction, pace_s) AS utilization_fraction,
        MAX_BY(pipelining_fraction, pace_s) AS pipelining_fraction,
        MAX(tile_byte) AS tile_byte,
        MAX_BY(peak_ops_per_s, pace_s) AS peak_ops_per_s,
        SUM(reload_byte) AS reload_byte,
        SUM(CASE WHEN unit = 'matrix' THEN ideal_compute_s ELSE 0e0 END) AS matrix_ideal_s,
        SUM(CASE WHEN unit = 'vector' THEN ideal_compute_s ELSE 0e0 END) AS vector_ideal_s,
        SUM(CASE WHEN unit = 'matrix' AND flops > 0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS matrix_s_per_half_op,
        MAX(CASE WHEN unit = 'vector' AND flops > 0 THEN 1e0 / NULLIF(unit_ops_per_s, 0e0) ELSE 0e0 END) AS vector_s_per_half_op,
        -- Both kinds of unit work at once, as in compute_s: else the bound could lie above the time.
        GREATEST(
            SUM(CASE WHEN unit = 'matrix' THEN flops / NULLIF(peak_ops_per_s, 0e0) ELSE 0e0 END),
            SUM(CASE WHEN unit = 'vector' THEN flops / NULLIF(peak_ops_per_s, 0e0) ELSE 0e0 END)
        ) AS naive_s,
        SUM(flops * op_j) + CASE WHEN COUNT(*) > COUNT(op_j) THEN NULL ELSE 0e0 END AS compute_energy_j
    FROM paced_parts
    GROUP BY model_id, scenario_id, hardware_id, subgraph_id, candidate
    HAVING COUNT(*) = MAX(part_count)
),

kernel_inputs AS (
    SELECT
        w.model_id,
        w.scenario_id,
        t.hardware_id,
        w.subgraph_id,
        w.position,
        w.subgraph,
        w.kernel_class,
        w.anchor_operator_id,
        w.precision,
        e.memory_format AS layout,
        w.view_count,
        e.operator_name,
        w.weight_byte,
        w.output_byte,
        w.traffic_byte + COALESCE(cc.spilled_byte, 0e0) AS traffic_byte,
        COALESCE(cc.cut_count, 0) AS cut_count,
        COALESCE(p.macs, 0e0) AS macs,
        COALESCE(p.flops, 0e0) AS flops,
        COALESCE(p.threads, 0e0) AS threads,
        CASE
            -- Libraries share every product.
            WHEN t.chunk_element IS NULL OR COALESCE(p.macs, 0e0) > 0e0 THEN h.unit_count
            WHEN t.shares_by_chunk
                THEN GREATEST(LEAST(w.loop_byte * 8e0 / NULLIF(cp.bits * t.chunk_element, 0e0), h.unit_count), 1e0)
            WHEN w.loop_byte * 8e0 / NULLIF(cp.bits, 0) >= t.chunk_element * h.unit_count THEN h.unit_count
            ELSE 1e0
        END AS team_size,
        -- Channels-last, each element has a thread of its own.
        CASE WHEN t.follows_strides AND w.layout <> 'nhwc' THEN COALESCE(p.steps, 0e0) * h.memory_latency_s ELSE 0e0 END
            AS latency_bound_s,
        COALESCE(p.unit, 'vector') AS unit,
        p.executed_precision,
        COALESCE(p.candidate, 0) AS candidate,
        p.strategy,
        p.tile_m,
        p.tile_n,
        p.tile_k,
        COALESCE(p.tile_count, 1e0) AS tile_count,
        COALESCE(p.units_allocated, h.unit_count) AS units_allocated,
        h.unit_count,
        COALESCE(p.waves, 1e0) AS waves,
        COALESCE(p.utilization_fraction, 1e0) AS utilization_fraction,
        COALESCE(p.pipelining_fraction, 1e0) AS pipelining_fraction,
        COALESCE(p.tile_byte, 0e0) AS tile_byte,
        p.peak_ops_per_s,
        COALESCE(p.reload_byte, 0e0) AS reload_byte,
        COALESCE(p.naive_s, 0e0) AS naive_s,
        COALESCE(p.matrix_ideal_s, 0e0) AS matrix_ideal_s,
        COALESCE(p.vector_ideal_s, 0e0) AS vector_ideal_s,
        (COALESCE(p.matrix_ideal_s, 0e0) + e.matrix_half_ops * COALESCE(p.matrix_s_per_half_op, 0e0))
        / NULLIF(e.matrix_fraction, 0e0) AS matrix_s,
        (COALESCE(p.vector_ideal_s, 0e0) + e.vector_half_ops * COALESCE(p.vector_s_per_half_op, 0e0))
        / NULLIF(e.vector_fraction, 0e0) AS vector_s,
        CASE WHEN p.subgraph_id IS NULL THEN 0e0 ELSE p.compute_energy_j END AS compute_energy_j,
        CASE
            WHEN t.is_cache_warm = 2e0 AND w.traffic_byte <= h.cache_byte THEN w.traffic_byte
            -- What streams through a cache that is too small for it is evicted before it is read again.
            WHEN
                t.is_cache_warm >= 1e0 AND w.produced_byte + w.output_byte <= e.residency_fraction * h.cache_byte
                THEN w.produced_byte + w.output_byte
            ELSE 0e0
        END AS resident_byte,
        e.memory_half_byte * h.unit_count AS memory_half_byte,
        e.memory_fraction AS memory_maximum_fraction,
        e.overlap_fraction AS overlap_fraction,
        e.reorder_fraction,
        e.paging_fraction,
        e.thread_fraction,
        CASE WHEN t.chunk_element IS NULL THEN 0e0 ELSE COALESCE(e.team_byte, 0e0) * h.unit_count END AS team_byte,
        CASE
            WHEN e.reorder_fraction IS NULL THEN 0e0
            WHEN e.memory_format = 'aliased' THEN l.reorder_byte + w.weight_byte
            ELSE COALESCE(v.reorder_byte, l.reorder_byte, 0e0)
        END AS reorder_byte,
        CASE WHEN e.paging_fraction IS NULL THEN 0e0 ELSE COALESCE(f.fault_byte, 0e0) END AS paged_byte,
        h.dram_byte_per_s,
        h.cache_byte_per_s,
        h.tile_memory_byte_per_s,
        h.cache_level,
        h.tile_memory_level,
        h.part_kernel_gap_s * t.kernel_gap_fraction AS kernel_gap_s,
        h.tdp_w,
        c.dram_j_per_byte,
        c.cache_j_per_byte,
        c.tile_j_per_byte,
        c.static_w
    FROM kernel_work AS w
    INNER JOIN target AS t
        ON t.model_id = w.model_id AND t.scenario_id = w.scenario_id AND (t.bias_is_kernel OR w.kernel_class <> 'bias')
    INNER JOIN hardware_unit AS h ON h.hardware_id = t.hardware_id
    INNER JOIN energy_coefficients AS c ON c.hardware_id = t.hardware_id
    LEFT JOIN summed_parts AS p
        ON p.model_id = w.model_id AND p.scenario_id = w.scenario_id
        AND p.hardware_id = t.hardware_id AND p.subgraph_id = w.subgraph_id
    LEFT JOIN chain_cut AS cc
        ON cc.model_id = w.model_id AND cc.scenario_id = w.scenario_id
        AND cc.hardware_id = t.hardware_id AND cc.subgraph_id = w.subgraph_id
    LEFT JOIN convolution_call AS v
        ON v.model_id = w.model_id AND v.scenario_id = w.scenario_id AND v.subgraph_id = w.subgraph_id
        AND t.family = 'cpu'
    LEFT JOIN linear_call AS l
        ON l.model_id = w.model_id AND l.scenario_id = w.scenario_id AND l.subgraph_id = w.subgraph_id
        AND t.family = 'cpu'
    LEFT JOIN page_fault AS f
        ON f.model_id = w.model_id AND f.scenario_id = w.scenario_id AND f.subgraph_id = w.subgraph_id
        AND t.family = 'cpu'
    INNER JOIN precision AS cp ON cp.precision = w.precision
    INNER JOIN efficiency_precision AS ep ON ep.precision = w.precision
    LEFT JOIN efficiency_operator AS eo
        ON eo.model_id = w.model_id AND eo.operator_id = w.anchor_operator_id AND eo.operator_class = w.kernel_class
    INNER JOIN efficiency_choice AS e
        ON e.hardware_id = t.hardware_id AND e.backend = t.backend AND e.kernel_class = w.kernel_class
        AND e.operator_name = CASE WHEN v.is_native THEN 'aten._slow_conv2d_forward' ELSE COALESCE(eo.operator_name, '*') END
        AND e.precision_class = ep.precision_class
        AND e.memory_format = CASE
            WHEN v.is_misread THEN 'strided'
            WHEN l.is_aliased AND t.vendor = 'intel' THEN 'aliased'
            ELSE w.layout
        END
),

level_times AS (
    SELECT
        *,
        -- Tiles that lose more than the library's let a class be faster than they are, but not than the peak.
        GREATEST(matrix_s, vector_s, naive_s) AS compute_s,
        traffic_byte - resident_byte AS dram_byte,
        (traffic_byte - resident_byte + CASE WHEN traffic_byte > 0e0 THEN memory_half_byte ELSE 0e0 END)
        / NULLIF(dram_byte_per_s * memory_maximum_fraction, 0e0) AS dram_s,
        COALESCE(traffic_byte / NULLIF(cache_byte_per_s * memory_maximum_fraction, 0e0), 0e0) AS cache_s,
        COALESCE(reload_byte / NULLIF(tile_memory_byte_per_s, 0e0), 0e0) AS reload_s,
        COALESCE(reorder_byte / NULLIF(dram_byte_per_s * reorder_fraction, 0e0), 0e0) AS reorder_s,
        COALESCE(paged_byte / NULLIF(dram_byte_per_s * paging_fraction, 0e0), 0e0) AS paging_s,
        CASE
            WHEN team_size >= unit_count OR thread_fraction IS NULL THEN 0e0
            ELSE traffic_byte * unit_count / NULLIF(dram_byte_per_s * thread_fraction * team_size, 0e0)
        END AS thread_s,
        CASE WHEN team_size > 1e0 AND traffic_byte > 0e0 THEN team_byte / NULLIF(dram_byte_per_s, 0e0) ELSE 0e0 END
            AS team_s
    FROM kernel_inputs
),

roofline_times AS (
    SELECT
        *,
        GREATEST(dram_s, cache_s, reload_s, latency_bound_s, thread_s) AS memory_s,
        CASE
            WHEN thread_s > GREATEST(dram_s, cache_s, reload_s, latency_bound_s) THEN 'thread'
            WHEN latency_bound_s > GREATEST(dram_s, cache_s, reload_s) THEN 'latency'
            WHEN dram_s >= cache_s AND dram_s >= reload_s THEN 'dram'
            WHEN cache_s >= reload_s THEN cache_level
            ELSE tile_memory_level
        END AS memory_level,
        GREATEST(naive_s, dram_byte / NULLIF(dram_byte_per_s, 0e0)) AS roofline_s,
        (dram_byte + reorder_byte) * dram_j_per_byte AS dram_energy_j,
        CASE WHEN cache_level IS NULL THEN 0e0 ELSE traffic_byte * cache_j_per_byte END
        + CASE WHEN tile_memory_level IS NULL THEN 0e0 ELSE reload_byte * tile_j_per_byte END AS cache_energy_j
    FROM level_times
),

power_limited AS (
    SELECT
        *,
        (1e0 - overlap_fraction) * LEAST(compute_s, memory_s) AS serial_s,
        (compute_energy_j + dram_energy_j + cache_energy_j) / NULLIF(tdp_w - static_w, 0e0) AS power_s
    FROM roofline_times
),

unlimited_times AS (
    SELECT
        *,
        GREATEST(compute_s, memory_s) + serial_s + reorder_s + paging_s + team_s AS unlimited_s
    FROM power_limited
),

candidate_times AS (
    SELECT
        *,
        GREATEST(unlimited_s, COALESCE(power_s, 0e0)) AS busy_s,
        COALESCE(power_s, 0e0) > unlimited_s AS is_power_bound
    FROM unlimited_times
),

ranked_candidates AS (
    -- Equal times fall to the lower number.
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY model_id, scenario_id, hardware_id, subgraph_id
            ORDER BY busy_s * (1e0 + 1e-9 * candidate), candidate
        ) AS place
    FROM candidate_times
)

SELECT
    model_id,
    scenario_id,
    hardware_id,
    subgraph_id,
    position,
    subgraph,
    kernel_class,
    anchor_operator_id,
    precision,
    layout,
    view_count,
    operator_name,
    macs,
    flops,
    threads,
    team_size,
    unit,
    executed_precision,
    candidate,
    strategy,
    tile_m,
    tile_n,
    tile_k,
    tile_count,
    units_allocated,
    unit_count,
    waves,
    utilization_fraction,
    pipelining_fraction,
    tile_byte,
    peak_ops_per_s,
    CASE WHEN compute_s > 0e0 THEN GREATEST(matrix_ideal_s, vector_ideal_s) / NULLIF(compute_s, 0e0) ELSE 1e0 END
        AS compute_efficiency_fraction,
    CASE WHEN dram_s > 0e0 THEN dram_byte / NULLIF(dram_byte_per_s * dram_s, 0e0) ELSE 1e0 END AS memory_efficiency_fraction,
    traffic_byte,
    CAST(cut_count AS BIGINT) AS cut_count,
    weight_byte,
    output_byte,
    resident_byte,
    dram_byte,
    traffic_byte AS cache_byte,
    reload_byte,
    reorder_byte,
    matrix_s,
    vector_s,
    compute_s,
    dram_s,
    cache_s,
    reload_s,
    latency_bound_s,
    thread_s,
    memory_s,
    memory_level,
    serial_s,
    reorder_s,
    paged_byte,
    paging_s,
    team_s,
    power_s,
    busy_s,
    is_power_bound,
    kernel_gap_s,
    busy_s + kernel_gap_s AS device_s,
    naive_s,
    roofline_s,
    compute_energy_j,
    dram_energy_j,
    cache_energy_j,
    static_w,
    tdp_w
FROM ranked_candidates
WHERE place = 1
