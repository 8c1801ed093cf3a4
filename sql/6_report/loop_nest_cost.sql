-- Cycles, bytes at every memory border, time and energy of every row of `loop_nest`, run alone on its part. Transfers at all
-- borders overlap, and the slowest sets the pace. A busy network takes longer (`busy_growth`). Activations that are already on the
-- chip do not come from main memory (`activation_dram_fraction`).
-- Grain: loop_nest_id
CREATE VIEW loop_nest_cost AS
-- On parts without a shared memory the inner border is that of main memory.
WITH bordered_nests AS (
    SELECT
        *,
        CASE
            WHEN outer_capacity_byte IS NULL
                THEN (
                    (inner_input_byte + inner_output_byte) * COALESCE(activation_dram_fraction, 1e0)
                    + inner_weight_byte * COALESCE(weight_dram_fraction, 1e0)
                ) * cast_byte / NULLIF(inner_byte, 0e0)
            ELSE (outer_input_byte + outer_output_byte) * COALESCE(activation_dram_fraction, 1e0)
                + outer_weight_byte * COALESCE(weight_dram_fraction, 1e0)
        END AS dram_byte,
        CASE WHEN outer_capacity_byte IS NULL THEN 0e0 ELSE cast_byte END AS cache_byte,
        CASE
            WHEN outer_tile_byte > outer_capacity_byte THEN 'outer'
            WHEN inner_tile_byte > inner_capacity_byte THEN 'inner'
            WHEN row_folds IS NULL THEN 'array'
        END AS overflowing_level,
        2e0 * macs AS flops
    FROM nest_step
),

timed_nests AS (
    SELECT
        *,
        cycles * 2e0 * array_count * matrix_array_rows * matrix_array_columns / NULLIF(matrix_ops_per_s, 0e0) AS compute_s,
        dram_byte / NULLIF(dram_byte_per_s, 0e0) AS dram_s,
        COALESCE(cache_byte / NULLIF(cache_byte_per_s, 0e0), 0e0) AS cache_s,
        CASE WHEN draws_from_outer THEN 0e0 ELSE COALESCE(array_byte / NULLIF(tile_memory_byte_per_s, 0e0), 0e0) END AS array_s,
        COALESCE(unit_hop_byte / NULLIF(unit_link_count * unit_link_byte_per_s, 0e0), 0e0) AS unit_link_s,
        COALESCE(die_hop_byte / NULLIF(die_link_count * die_link_byte_per_s, 0e0), 0e0) AS die_link_s
    FROM bordered_nests
),

-- Time without the networks; the utilization of a network is its share of that time.
networked_nests AS (
    SELECT
        *,
        GREATEST(
            unit_link_s * CASE
                WHEN unit_link_s = 0e0 THEN 1e0
                ELSE busy_growth(
                    unit_link_s / NULLIF(GREATEST(unit_link_s, compute_s, dram_s, cache_s, array_s), 0e0), unit_busy_fraction
                )
            END,
            die_link_s * CASE
                WHEN die_link_s = 0e0 THEN 1e0
                ELSE busy_growth(
                    die_link_s / NULLIF(GREATEST(die_link_s, compute_s, dram_s, cache_s, array_s), 0e0), die_busy_fraction
                )
            END
        ) AS network_s
    FROM timed_nests
),

paced_nests AS (
    SELECT
        *,
        CASE WHEN overflowing_level IS NULL THEN GREATEST(compute_s, dram_s, cache_s, array_s, network_s) END AS latency_s,
        dram_byte * dram_j_per_byte AS dram_j,
        cache_byte * COALESCE(cache_j_per_byte, 0e0) AS cache_j,
        CASE WHEN draws_from_outer THEN 0e0 ELSE array_byte * COALESCE(tile_j_per_byte, 0e0) END AS array_j,
        flops * matrix_op_j AS compute_j
    FROM networked_nests
)

SELECT
    loop_nest_id,
    product,
    hardware,
    backend,
    compute_precision,
    m,
    n,
    k,
    gemm_count,
    dataflow,
    outer_m,
    outer_n,
    outer_k,
    outer_kept,
    inner_m,
    inner_n,
    inner_k,
    inner_kept,
    -- Memory that is too small for its tile: `outer`, `inner`, or `array` if the array's sets of elements do not fit; null if all
    -- tiles fit.
    overflowing_level,
    cycles,
    -- Number of cycles if every fold is filled and drained before the next, as SCALE-Sim counts: a stationary operand other than
    -- results is first loaded row by row.
    folds * (
        streamed_steps + matrix_array_rows + matrix_array_columns - 2e0
        + CASE WHEN dataflow IN ('output_stationary', 'wavefront') THEN 0e0 ELSE matrix_array_rows END
    ) AS serial_cycles,
    -- Ratio of the multiply-accumulates to the multiply-accumulates that all arrays could do in `cycles`.
    flops / 2e0 / NULLIF(cycles * array_count * matrix_array_rows * matrix_array_columns, 0e0) AS utilization_fraction,
    -- Bytes between main memory and the chip. [byte]
    dram_byte,
    -- Bytes between the memory shared by all units and the arrays or their own memories; 0 without a shared memory. [byte]
    cache_byte,
    array_byte,
    element_hop_byte,
    unit_hop_byte,
    die_hop_byte,
    active_elements,
    -- Time of the arithmetic, folds included. [s]
    compute_s,
    -- Time of main memory to move its bytes. [s]
    dram_s,
    -- Time of the memory shared by all units to move its bytes. [s]
    cache_s,
    -- Time of the arrays' own memories to move their bytes; 0 without such memories or when their bandwidth is unknown. [s]
    array_s,
    -- Time of the slowest network between units or dice, contention included; 0 without a network. [s]
    network_s,
    -- Longest of the times above; null if a memory is too small for its tile. [s]
    latency_s,
    -- Resource that takes the longest time: `compute`, `dram`, `cache`, `array` or `network`.
    CASE
        WHEN latency_s IS NULL THEN NULL
        WHEN compute_s >= latency_s THEN 'compute'
        WHEN dram_s >= latency_s THEN 'dram'
        WHEN cache_s >= latency_s THEN 'cache'
        WHEN array_s >= latency_s THEN 'array'
        ELSE 'network'
    END AS limited_by,
    -- Energy of arithmetic, of transfers at every border and of network hops, plus the static energy of the whole part during
    -- `latency_s`. [J]
    compute_j + dram_j + cache_j + array_j + hop_j + static_w * latency_s AS energy_j,
    -- Energy-delay product: energy times time. [J s]
    (compute_j + dram_j + cache_j + array_j + hop_j + static_w * latency_s) * latency_s AS edp_js
FROM paced_nests
