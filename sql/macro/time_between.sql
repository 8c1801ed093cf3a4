-- Shortest time that kernels keep the device busy at a clock between two clock steps. Time is convex in the inverse clock, so it is
-- at least the time at the higher step, and above the line through either pair of neighbouring steps. [s]
CREATE MACRO time_between(clock, slow_clock, slow_s, slower_clock, slower_s, full_clock, full_s, fuller_clock, fuller_s) AS
    GREATEST(
        full_s,
        time_at_clock(clock, full_clock, full_s, fuller_clock, fuller_s),
        time_at_clock(clock, slow_clock, slow_s, slower_clock, slower_s)
    );
