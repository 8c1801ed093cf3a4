-- Peaks and units that an element type runs with on a part, for each way in which backends use them, after falling back along
-- `precision.fallback` where the part has no rate of its own. Vector units sum products of half precision in half
-- precision where the backend lets them and that is not slower: Pascal's rate is a 64th. Weights in packed blocks are multiplied
-- in the format that the backend turns activations into (`backend_support.packed_precision`).
-- Grain: hardware, arithmetic, compute_precision
CREATE TABLE arithmetic_rate AS
WITH used_units AS (
    SELECT DISTINCT * EXCLUDE (backend) FROM backend_arithmetic
),

unit_rates AS (
    SELECT
        r.*,
        s.arithmetic,
        s.cuts_queries,
        w.precision AS compute_precision,
        s.calls_library AND r.half_matrix_ops_per_s > r.matrix_ops_per_s AND r.matrix_precision = 'fp16' AS is_half_matrix,
        s.sums_in_half AND r.vector_ops_per_s >= COALESCE(r.single_vector_ops_per_s, 0e0) AS is_half
    FROM used_units AS s
    CROSS JOIN precision AS w
    INNER JOIN hardware_rate AS r
        ON r.hardware = s.hardware
        AND r.precision = CASE WHEN w.kind = 'packed' THEN COALESCE(s.packed_precision, w.precision) ELSE w.precision END
)

SELECT
    r.hardware,
    r.arithmetic,
    -- Element type asked for.
    r.compute_precision,
    h.family,
    -- Bytes of an element in memory. [byte]
    p.bits / 8e0 AS element_byte,
    h.unit_count,
    h.lanes,
    h.register_byte,
    h.tile_memory_byte,
    h.stated_tile_memory_byte,
    h.tile_memory_pool_byte,
    h.tile_memory_byte_per_s,
    -- Rate at which all units load tiles: that of the memory beside them, or of the last-level cache where there is none; null when
    -- unknown. [byte/s]
    CASE WHEN h.tile_memory_level IS NULL THEN h.cache_byte_per_s ELSE h.tile_memory_byte_per_s END AS load_byte_per_s,
    h.stream_memory_byte,
    h.stream_memory_byte_per_s,
    h.is_staged,
    -- Most that one unit draws into its tile memory from the last-level cache: the slower of both sides; null when neither is
    -- known. [byte/s]
    LEAST(h.tile_memory_byte_per_s, h.cache_byte_per_s) / NULLIF(h.unit_count, 0e0) AS load_unit_byte_per_s,
    -- Most that one unit draws into its stream buffers from its tile memory: the slower of both sides; null when neither is
    -- known. [byte/s]
    LEAST(h.stream_memory_byte_per_s, h.tile_memory_byte_per_s) / NULLIF(h.unit_count, 0e0) AS stream_unit_byte_per_s,
    -- Steps of the whole array in a second that its stream buffers can feed: an element a row and column each; null when their
    -- bandwidth is unknown. [Hz]
    h.stream_memory_byte_per_s
    / NULLIF(h.unit_count * p.bits / 8e0 * (r.matrix_array_rows + r.matrix_array_columns), 0e0) AS fed_array_hz,
    h.clock_hz,
    h.matrix_instruction,
    -- Peak of the matrix units; null when the part has none for it. [ops/s]
    CASE WHEN r.is_half_matrix THEN r.half_matrix_ops_per_s ELSE r.matrix_ops_per_s END AS matrix_ops_per_s,
    r.matrix_precision,
    r.matrix_unit_count,
    r.matrix_array_rows,
    r.matrix_array_columns,
    r.accumulator_byte,
    r.matrix_op_j,
    -- Peak of the vector units; null when the part has none for it. [ops/s]
    CASE WHEN r.is_half THEN r.vector_ops_per_s ELSE r.single_vector_ops_per_s END AS vector_ops_per_s,
    -- Element type the vector units compute in; null when the part has none for it.
    CASE WHEN r.is_half THEN r.vector_precision ELSE r.single_vector_precision END AS vector_precision,
    -- Units that reach that peak together, of the matrix units where it has no other.
    COALESCE(
        CASE WHEN r.is_half THEN r.vector_unit_count ELSE r.single_vector_unit_count END, r.matrix_unit_count, h.unit_count
    ) AS vector_unit_count,
    -- Energy of one of their operations, of the matrix units' element type where the part has none; null when unknown. [J]
    CASE WHEN r.is_half THEN r.vector_op_j ELSE r.single_vector_op_j END AS vector_op_j,
    r.is_native,
    -- Threads of a block, the grain at which vector work is spread over units.
    c.value AS block_threads,
    r.cuts_queries
FROM unit_rates AS r
INNER JOIN part AS h ON h.hardware = r.hardware
INNER JOIN precision AS p ON p.precision = r.precision
INNER JOIN library_constant AS c ON c.library_constant = 'vector_block_threads'
