-- Time that a kernel keeps the device busy at a share of the full clock: arithmetic and memories on the units' clock take longer,
-- main memory and exposed time do not. [s]
CREATE MACRO clocked_time(clock_fraction, compute_s, memory_s, clocked_memory_s, feed_s, exposed_s, overlap_fraction) AS
    busy_time(
        compute_s / NULLIF(clock_fraction, 0e0),
        GREATEST(memory_s, clocked_memory_s / NULLIF(clock_fraction, 0e0)),
        feed_s / NULLIF(clock_fraction, 0e0),
        exposed_s,
        overlap_fraction
    );
