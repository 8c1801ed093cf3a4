-- Which models of a source, such as the sizes of a synthetic family, stay in each memory level of a part: the largest whose
-- weights and activations fit twice (`memory_fit.fits_double_buffered`), and the smallest that does not.
-- Grain: source, hardware, backend, precision, batch, sequence, scenario_id, level
CREATE VIEW family_fit AS
SELECT
    m.source,
    f.hardware,
    f.backend,
    f.precision,
    f.batch,
    f.sequence,
    f.scenario_id,
    f.level,
    f.depth,
    f.capacity_byte,
    -- Largest model that stays; null where none does.
    MAX_BY(f.model, CASE WHEN f.fits_double_buffered THEN f.double_buffered_byte END) AS largest_model,
    -- Its weights and activations, twice. [byte]
    MAX(CASE WHEN f.fits_double_buffered THEN f.double_buffered_byte END) AS largest_byte,
    -- Smallest model that does not; null where all stay.
    MIN_BY(f.model, CASE WHEN NOT f.fits_double_buffered THEN f.double_buffered_byte END) AS next_model,
    -- Its weights and activations, twice. [byte]
    MIN(CASE WHEN NOT f.fits_double_buffered THEN f.double_buffered_byte END) AS next_byte
FROM memory_fit AS f
INNER JOIN model AS m ON m.model = f.model
WHERE f.level <> 'register'
GROUP BY
    m.source, f.hardware, f.backend, f.precision, f.batch, f.sequence, f.scenario_id, f.level, f.depth, f.capacity_byte
