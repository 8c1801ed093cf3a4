-- On-chip networks of every part that states a network, in one wide row: between units (`unit`), between dice (`die`; then the
-- units of each die have a separate network) and between the elements of an array (`element`). Unstated sides are made as equal as
-- possible. The energy of a network with an impossible number (`part_fault`) is unknown.
-- Grain: hardware
CREATE VIEW part_mesh AS
WITH faulty_meshes AS (
    SELECT DISTINCT hardware, SPLIT_PART(field, '.', 2) AS mesh
    FROM part_fault
    WHERE kind = 'mesh' AND NOT is_possible
),

possible_meshes AS (
    SELECT
        s.hardware,
        s.mesh,
        s.mesh_rows,
        s.mesh_columns,
        CASE WHEN f.hardware IS NULL THEN s.link_byte_per_s END AS link_byte_per_s,
        CASE WHEN f.hardware IS NULL THEN s.hop_j_per_byte END AS hop_j_per_byte,
        CASE WHEN f.hardware IS NULL THEN s.busy_fraction END AS busy_fraction
    FROM hardware_mesh AS s
    LEFT JOIN faulty_meshes AS f ON f.hardware = s.hardware AND f.mesh = s.mesh
),

wide_meshes AS (
    SELECT
        hardware,
        MAX(CASE WHEN mesh = 'die' THEN 1 ELSE 0 END) = 1 AS has_die_mesh,
        MAX(CASE WHEN mesh = 'unit' THEN 1 ELSE 0 END) = 1 AS has_unit_mesh,
        MAX(CASE WHEN mesh = 'unit' THEN mesh_columns END) AS stated_unit_columns,
        MAX(CASE WHEN mesh = 'unit' THEN mesh_rows END) AS stated_unit_rows,
        MAX(CASE WHEN mesh = 'unit' THEN link_byte_per_s END) AS unit_link_byte_per_s,
        MAX(CASE WHEN mesh = 'unit' THEN hop_j_per_byte END) AS unit_hop_j_per_byte,
        MAX(CASE WHEN mesh = 'unit' THEN busy_fraction END) AS unit_busy_fraction,
        MAX(CASE WHEN mesh = 'die' THEN mesh_columns END) AS stated_die_columns,
        MAX(CASE WHEN mesh = 'die' THEN mesh_rows END) AS stated_die_rows,
        MAX(CASE WHEN mesh = 'die' THEN link_byte_per_s END) AS die_link_byte_per_s,
        MAX(CASE WHEN mesh = 'die' THEN hop_j_per_byte END) AS die_hop_j_per_byte,
        MAX(CASE WHEN mesh = 'die' THEN busy_fraction END) AS die_busy_fraction,
        MAX(CASE WHEN mesh = 'element' THEN 1 ELSE 0 END) = 1 AS has_element_mesh,
        MAX(CASE WHEN mesh = 'element' THEN hop_j_per_byte END) AS element_hop_j_per_byte
    FROM possible_meshes
    GROUP BY hardware
),

counted_meshes AS (
    SELECT
        w.*,
        CASE WHEN w.has_die_mesh THEN CAST(COALESCE(h.die_count, 1) AS DOUBLE) ELSE 1e0 END AS die_count,
        u.unit_count / NULLIF(CASE WHEN w.has_die_mesh THEN CAST(COALESCE(h.die_count, 1) AS DOUBLE) ELSE 1e0 END, 0e0)
            AS die_unit_count
    FROM wide_meshes AS w
    INNER JOIN hardware AS h ON h.hardware = w.hardware
    LEFT JOIN part_unit AS u ON u.hardware = w.hardware
),

sided_meshes AS (
    SELECT
        *,
        COALESCE(CAST(stated_unit_columns AS DOUBLE), CEIL(die_unit_count / NULLIF(CAST(stated_unit_rows AS DOUBLE), 0e0)), CEIL(SQRT(die_unit_count)))
            AS unit_columns,
        COALESCE(CAST(stated_die_columns AS DOUBLE), CEIL(die_count / NULLIF(CAST(stated_die_rows AS DOUBLE), 0e0)), CEIL(SQRT(die_count)))
            AS die_columns
    FROM counted_meshes
),

whole_meshes AS (
    SELECT
        *,
        COALESCE(CAST(stated_unit_rows AS DOUBLE), CEIL(die_unit_count / NULLIF(unit_columns, 0e0))) AS unit_rows,
        COALESCE(CAST(stated_die_rows AS DOUBLE), CEIL(die_count / NULLIF(die_columns, 0e0))) AS die_rows
    FROM sided_meshes
)

SELECT
    hardware,
    -- True if the part's units have a network.
    has_unit_mesh,
    -- True if the part's dice have a network.
    has_die_mesh,
    -- True if the elements of the part's arrays have a network.
    has_element_mesh,
    -- Number of dice that a network joins; 1 without a network between dice.
    die_count,
    -- Number of units that one network joins: the units of a die, or all units.
    die_unit_count,
    -- Mean number of links between two units of a network.
    mesh_distance(unit_rows, unit_columns) AS unit_distance,
    -- Number of links in all networks between units; each direction is one link.
    die_count * 2e0 * (unit_rows * (unit_columns - 1e0) + unit_columns * (unit_rows - 1e0)) AS unit_link_count,
    -- Bandwidth of a link between units; null when unknown. [byte/s]
    unit_link_byte_per_s,
    -- Energy of a byte over a link between units; null when unknown. [J/byte]
    unit_hop_j_per_byte,
    -- Utilization above which transfers between units slow down.
    unit_busy_fraction,
    -- Mean number of links between two dice.
    mesh_distance(die_rows, die_columns) AS die_distance,
    -- Number of links between dice; each direction is one link.
    2e0 * (die_rows * (die_columns - 1e0) + die_columns * (die_rows - 1e0)) AS die_link_count,
    -- Bandwidth of a link between dice; null when unknown. [byte/s]
    die_link_byte_per_s,
    -- Energy of a byte over a link between dice; null when unknown. [J/byte]
    die_hop_j_per_byte,
    -- Utilization above which transfers between dice slow down.
    die_busy_fraction,
    -- Energy of a byte from one element of an array to the next; null when unknown. [J/byte]
    element_hop_j_per_byte
FROM whole_meshes
