-- Time that a kernel keeps the device busy: the longer of arithmetic and memory, plus the part of the shorter that does not
-- overlap, at least the time of the first level to feed the arithmetic, plus exposed time. [s]
CREATE MACRO busy_time(compute_s, memory_s, feed_s, exposed_s, overlap_fraction) AS
    GREATEST(GREATEST(compute_s, memory_s) + serial_time(compute_s, memory_s, overlap_fraction), feed_s) + exposed_s;
