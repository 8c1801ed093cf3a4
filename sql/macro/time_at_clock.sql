-- Time at a clock, on the line through the times at two other clocks as functions of the inverse clock. [s]
CREATE MACRO time_at_clock(clock, first_clock, first_s, second_clock, second_s) AS
    first_s + (1e0 / NULLIF(clock, 0e0) - 1e0 / NULLIF(first_clock, 0e0)) * (second_s - first_s)
    / NULLIF(1e0 / NULLIF(second_clock, 0e0) - 1e0 / NULLIF(first_clock, 0e0), 0e0);
