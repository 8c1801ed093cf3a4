-- Least time that kernels keep the device busy at a clock between two steps: it is convex in the time of a clock, so that it is no
-- less than at the fuller step, and lies above the line through that and the one beyond, on either side. [s]
CREATE MACRO time_between(clock, slow_clock, slow_s, slower_clock, slower_s, full_clock, full_s, fuller_clock, fuller_s) AS
    GREATEST(
        full_s,
        time_at_clock(clock, full_clock, full_s, fuller_clock, fuller_s),
        time_at_clock(clock, slow_clock, slow_s, slower_clock, slower_s)
    );
