-- Time that a kernel keeps the device busy, from its terms: the longer of arithmetic and memory, what of the shorter does not
-- overlap, at least the time in which the first level feeds the arithmetic, and what is exposed. [s]
CREATE MACRO busy_time(compute_s, memory_s, feed_s, exposed_s, overlap_fraction) AS
    GREATEST(GREATEST(compute_s, memory_s) + serial_time(compute_s, memory_s, overlap_fraction), feed_s) + exposed_s;
