-- Time of arithmetic and memory that does not overlap: a share of the faster of the two. [s]
CREATE MACRO serial_time(compute_s, memory_s, overlap_fraction) AS (1e0 - overlap_fraction) * LEAST(compute_s, memory_s);
