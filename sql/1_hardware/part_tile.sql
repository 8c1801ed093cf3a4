-- Candidate tiles of a part under a backend (`arithmetic_tile`).
-- Grain: hardware, backend, compute_precision, candidate
CREATE VIEW part_tile AS
SELECT b.backend, u.* EXCLUDE (arithmetic)
FROM arithmetic_tile AS u
INNER JOIN part_backend AS b ON b.hardware = u.hardware AND b.arithmetic = u.arithmetic
