-- Peaks and units that a part uses for an element type, one row for each way in which backends use the part's units
-- (`backend_arithmetic`). A type without a rate falls back along `precision.fallback`; weights in packed blocks are multiplied in
-- the backend's format of activations (`backend_support.packed_precision`).
-- Grain: hardware, arithmetic, compute_precision
CREATE TABLE arithmetic_rate AS
WITH used_units AS (
    SELECT DISTINCT * EXCLUDE (backend) FROM backend_arithmetic
),

core_counts AS (
    SELECT
        hardware,
        SUM(unit_count) FILTER (WHERE cluster = 'p_core') AS performance_cores,
        SUM(unit_count) FILTER (WHERE cluster = 'e_core') AS efficient_cores
    FROM hardware_cluster
    GROUP BY hardware
),

unit_rates AS (
    SELECT
        r.*,
        s.arithmetic,
        s.cuts_queries,
        s.left_out_ratio,
        w.precision AS compute_precision,
        s.calls_library AND r.half_matrix_ops_per_s > r.matrix_ops_per_s AND r.matrix_precision = 'fp16' AS is_half_matrix,
        -- Vector units sum half-precision products in half precision if the backend allows it and that is not slower (Pascal's rate
        -- is a 64th).
        s.sums_in_half AND r.vector_ops_per_s >= COALESCE(r.single_vector_ops_per_s, 0e0) AS is_half
    FROM used_units AS s
    CROSS JOIN precision AS w
    INNER JOIN hardware_rate AS r
        ON r.hardware = s.hardware
        AND r.precision = CASE WHEN w.kind = 'packed' THEN COALESCE(s.packed_precision, w.precision) ELSE w.precision END
),

-- Performance cores, and their share of the peak, if the backend leaves the efficient cores out.
core_rates AS (
    SELECT
        r.*,
        p.bits,
        CASE WHEN r.is_half THEN r.performance_fraction ELSE r.single_performance_fraction END AS core_fraction,
        CASE
            WHEN core_fraction IS NOT NULL
                AND c.efficient_cores <= c.performance_cores * r.left_out_ratio * CASE WHEN p.bits <= 8 THEN 2e0 ELSE 1e0 END
                THEN CAST(c.performance_cores AS DOUBLE)
        END AS core_count
    FROM unit_rates AS r
    INNER JOIN precision AS p ON p.precision = r.precision
    LEFT JOIN core_counts AS c ON c.hardware = r.hardware
)

SELECT
    r.hardware,
    r.arithmetic,
    -- Element type that the policy requests.
    r.compute_precision,
    h.family,
    -- Bytes of an element in memory. [byte]
    r.bits / 8e0 AS element_byte,
    h.unit_count,
    h.lanes,
    h.register_byte,
    h.tile_memory_byte,
    h.stated_tile_memory_byte,
    h.tile_memory_pool_byte,
    h.tile_memory_byte_per_s,
    -- Rate at which all units load tiles from their tile memories, or from the last-level cache on parts without tile memories;
    -- null when unknown. [byte/s]
    CASE WHEN h.tile_memory_level IS NULL THEN h.cache_byte_per_s ELSE h.tile_memory_byte_per_s END AS load_byte_per_s,
    h.stream_memory_byte,
    h.stream_memory_byte_per_s,
    h.is_staged,
    -- True if each unit has a separate tile memory, which its array reads in every pass; false if software moves data through every
    -- level.
    NOT h.is_staged AND h.tile_memory_level IS NOT NULL AND h.tile_memory_pool_byte IS NULL AS has_own_memory,
    -- True if every unit fetches its tiles from another memory into its own. False on GPUs and processors, whose fitted efficiencies
    -- include these loads, and where software moves data through every level, whose `reload_byte` are these loads.
    has_own_memory AND h.family NOT IN ('cpu', 'gpu') AND COALESCE(h.tile_memory_level <> h.cache_level, FALSE) AS fetches_tiles,
    -- Largest rate at which one unit fills its tile memory from the last-level cache: the smaller bandwidth of the two; null when
    -- both are unknown. [byte/s]
    LEAST(h.tile_memory_byte_per_s, h.cache_byte_per_s) / NULLIF(h.unit_count, 0e0) AS load_unit_byte_per_s,
    -- Largest rate at which one unit fills its stream buffers from its tile memory: the smaller bandwidth of the two; null when
    -- both are unknown. [byte/s]
    LEAST(h.stream_memory_byte_per_s, h.tile_memory_byte_per_s) / NULLIF(h.unit_count, 0e0) AS stream_unit_byte_per_s,
    -- Clock of the whole array that the stream buffers can feed with one element per row and column; null when the bandwidth of the
    -- buffers is unknown. [Hz]
    h.stream_memory_byte_per_s
    / NULLIF(h.unit_count * r.bits / 8e0 * (r.matrix_array_rows + r.matrix_array_columns), 0e0) AS fed_array_hz,
    h.clock_hz,
    h.matrix_instruction,
    -- Peak of the matrix units; null without a matrix peak for this type. [ops/s]
    CASE WHEN r.is_half_matrix THEN r.half_matrix_ops_per_s ELSE r.matrix_ops_per_s END AS matrix_ops_per_s,
    r.matrix_precision,
    r.matrix_unit_count,
    r.matrix_array_rows,
    r.matrix_array_columns,
    r.accumulator_rows,
    r.accumulator_byte,
    r.matrix_op_j,
    -- Peak of the vector units, of the performance cores alone if the backend uses no others; null without a vector peak for this type.
    -- [ops/s]
    CASE WHEN r.is_half THEN r.vector_ops_per_s ELSE r.single_vector_ops_per_s END
    * CASE WHEN r.core_count IS NULL THEN 1e0 ELSE r.core_fraction END AS vector_ops_per_s,
    -- Element type that the vector units compute in; null without a peak for this type.
    CASE WHEN r.is_half THEN r.vector_precision ELSE r.single_vector_precision END AS vector_precision,
    -- Number of units that together reach the vector peak; the matrix units on parts without a vector peak.
    COALESCE(
        r.core_count, CASE WHEN r.is_half THEN r.vector_unit_count ELSE r.single_vector_unit_count END, r.matrix_unit_count, h.unit_count
    ) AS vector_unit_count,
    -- Energy of a vector operation, at the matrix units' element type where the part has no vector peak; null when unknown. [J]
    CASE WHEN r.is_half THEN r.vector_op_j ELSE r.single_vector_op_j END AS vector_op_j,
    r.is_native,
    -- Number of threads of a block; vector work is distributed over units in whole blocks.
    c.value AS block_threads,
    r.cuts_queries
FROM core_rates AS r
INNER JOIN part AS h ON h.hardware = r.hardware
INNER JOIN library_constant AS c ON c.library_constant = 'vector_block_threads'
