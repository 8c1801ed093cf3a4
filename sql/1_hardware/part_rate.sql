-- Peaks and units that an element type uses on a part under a backend (`arithmetic_rate`).
-- Grain: hardware, backend, compute_precision
CREATE VIEW part_rate AS
SELECT b.backend, u.* EXCLUDE (arithmetic)
FROM arithmetic_rate AS u
INNER JOIN part_backend AS b ON b.hardware = u.hardware AND b.arithmetic = u.arithmetic
