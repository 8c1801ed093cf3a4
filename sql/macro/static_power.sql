-- Power that flows whenever clocks run, at a clock against the reference one and the square of its voltage against the reference:
-- leakage goes with that square, clock trees with the clock too, memory in standby with neither. [W]
CREATE MACRO static_power(static_w, clocking_w, standby_w, reference_clock, voltage_square) AS
    (static_w - standby_w - clocking_w * (1e0 - reference_clock)) * voltage_square + standby_w;
