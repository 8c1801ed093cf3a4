-- Power that flows whenever clocks run, at a relative clock and squared relative voltage: leakage follows the voltage, clock trees
-- follow voltage and clock, memory in standby follows neither. [W]
CREATE MACRO static_power(static_w, clocking_w, standby_w, reference_clock, voltage_square) AS
    (static_w - standby_w - clocking_w * (1e0 - reference_clock)) * voltage_square + standby_w;
