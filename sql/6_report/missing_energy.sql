-- Parts whose energies are null, each with the first missing coefficient, which neither the part nor a rule states.
-- Grain: hardware
CREATE VIEW missing_energy AS
WITH unpriced_rates AS (
    SELECT
        hardware,
        MIN(CASE WHEN matrix_ops_per_s IS NOT NULL AND matrix_op_j IS NULL THEN CONCAT('energy.op.', matrix_precision, '.matrix') END)
            AS matrix_energy,
        MIN(CASE WHEN vector_ops_per_s IS NOT NULL AND vector_op_j IS NULL THEN CONCAT('energy.op.', vector_precision, '.vector') END)
            AS vector_energy
    FROM part_rate
    GROUP BY hardware
),

energies AS (
    SELECT
        h.hardware,
        CASE
            WHEN h.static_w IS NULL THEN 'energy.static.chip'
            WHEN h.dram_j_per_byte IS NULL THEN 'energy.byte.dram'
            WHEN h.cache_level IS NOT NULL AND h.cache_j_per_byte IS NULL THEN CONCAT('energy.byte.', h.cache_level)
            WHEN h.tile_memory_level IS NOT NULL AND h.tile_j_per_byte IS NULL
                THEN CONCAT('energy.byte.', h.tile_memory_level)
            ELSE COALESCE(r.matrix_energy, r.vector_energy)
        END AS field
    FROM part AS h
    LEFT JOIN unpriced_rates AS r ON r.hardware = h.hardware
)

SELECT
    hardware,
    -- Field name of the number, as in `hardware_value`.
    field
FROM energies
WHERE field IS NOT NULL
