-- Traffic of every loop nest over the on-chip networks of its part; without a network, every array loads operands separately.
-- Arrays with tiles of the same rows receive input from one multicast, and arrays with tiles of the same columns receive weights
-- from one multicast. A multicast leaves the memory once and passes from receiver to receiver. Arrays are placed in the order of
-- the columns, so that neighbours share a die.
-- Grain: loop_nest_id
CREATE VIEW nest_hop AS
WITH shared_nests AS (
    SELECT
        t.*,
        s.hardware IS NOT NULL AND (s.has_unit_mesh OR s.has_die_mesh) AS has_mesh,
        COALESCE(s.has_unit_mesh, FALSE) AS has_unit_mesh,
        COALESCE(s.has_die_mesh, FALSE) AS has_die_mesh,
        COALESCE(s.has_element_mesh, FALSE) AS has_element_mesh,
        s.unit_distance,
        s.unit_link_count,
        s.unit_link_byte_per_s,
        s.unit_hop_j_per_byte,
        s.unit_busy_fraction,
        s.die_distance,
        s.die_link_count,
        s.die_link_byte_per_s,
        s.die_hop_j_per_byte,
        s.die_busy_fraction,
        s.element_hop_j_per_byte,
        CASE
            WHEN t.dataflow = 'row_stationary' THEN t.macs * (
                t.element_byte * (
                    ((t.side - 1e0) * t.stride + t.window_side) / NULLIF(t.side * t.window_side * t.element_n, 0e0)
                    + 1e0 / NULLIF(t.side * t.strip_images, 0e0)
                )
                + t.accumulator_byte / NULLIF(CAST(t.element_k AS DOUBLE), 0e0)
            )
            WHEN t.dataflow IN ('output_stationary', 'wavefront') THEN t.macs * 2e0 * t.element_byte
            ELSE t.macs * (t.element_byte + t.accumulator_byte)
        END AS element_hop_byte,
        GREATEST(1e0, t.array_count / NULLIF(COALESCE(s.die_count, 1e0), 0e0)) AS die_arrays,
        LEAST(t.array_count, t.trips_n) AS input_receivers,
        GREATEST(1e0, LEAST(FLOOR(t.array_count / NULLIF(LEAST(t.array_count, t.trips_n), 0e0)), t.trips_m)) AS weight_receivers
    FROM nest_traffic AS t
    LEFT JOIN part_mesh AS s ON s.hardware = t.hardware
),

-- Number of dice that receive a multicast.
spread_nests AS (
    SELECT
        *,
        CEIL(input_receivers / NULLIF(die_arrays, 0e0)) AS input_dice,
        CASE
            WHEN input_receivers >= die_arrays THEN weight_receivers
            ELSE CEIL(weight_receivers * input_receivers / NULLIF(die_arrays, 0e0))
        END AS weight_dice,
        inner_input_byte / NULLIF(LEAST(input_receivers, inner_input_visits), 0e0) AS input_cast_byte,
        inner_weight_byte / NULLIF(LEAST(weight_receivers, inner_weight_visits), 0e0) AS weight_cast_byte
    FROM shared_nests
),

hopped_nests AS (
    SELECT
        *,
        CASE
            WHEN has_unit_mesh
                THEN input_cast_byte * (input_dice * unit_distance + input_receivers - input_dice)
                    + weight_cast_byte * (weight_dice * unit_distance + weight_receivers - weight_dice)
                    + inner_output_byte * unit_distance
            ELSE 0e0
        END AS unit_hop_byte,
        CASE
            WHEN has_die_mesh
                THEN input_cast_byte * (die_distance + input_dice - 1e0)
                    + weight_cast_byte * (die_distance + weight_dice - 1e0)
                    + inner_output_byte * die_distance
            ELSE 0e0
        END AS die_hop_byte
    FROM spread_nests
)

SELECT
    * EXCLUDE (
        has_mesh, has_unit_mesh, has_die_mesh, has_element_mesh, die_arrays, input_receivers, weight_receivers, input_dice, weight_dice,
        input_cast_byte, weight_cast_byte, unit_distance, die_distance, unit_hop_byte, die_hop_byte, unit_hop_j_per_byte,
        die_hop_j_per_byte, element_hop_byte, element_hop_j_per_byte
    ),
    -- Number of arrays that receive one multicast of input; 1 without a network.
    CASE WHEN has_mesh THEN input_receivers ELSE 1e0 END AS input_receivers,
    -- Number of arrays that receive one multicast of weights; 1 without a network.
    CASE WHEN has_mesh THEN weight_receivers ELSE 1e0 END AS weight_receivers,
    -- Bytes between the outer memory and the inner tiles, a multicast counted once. [byte]
    CASE WHEN has_mesh THEN input_cast_byte + weight_cast_byte + inner_output_byte ELSE inner_byte END AS cast_byte,
    -- Bytes between neighbouring elements of the arrays, and from the border to elements: of each product both operands, or one of
    -- them and a partial result. An element of a row-stationary array uses a pixel for its filters and all windows of its row, uses
    -- a weight along a row of results, and passes on its partial sums. [byte]
    element_hop_byte,
    -- Bytes sent between units, multiplied by the number of links that they pass; 0 without a network between units. [byte]
    unit_hop_byte,
    -- Bytes sent between dice, multiplied by the number of links that they pass; 0 without a network between dice. [byte]
    die_hop_byte,
    -- Energy of all hops between units, dice and the elements of the arrays; 0 for parts that state no network. [J]
    CASE WHEN has_unit_mesh THEN unit_hop_byte * unit_hop_j_per_byte ELSE 0e0 END
    + CASE WHEN has_die_mesh THEN die_hop_byte * die_hop_j_per_byte ELSE 0e0 END
    + CASE WHEN has_element_mesh THEN element_hop_byte * element_hop_j_per_byte ELSE 0e0 END AS hop_j
FROM hopped_nests
