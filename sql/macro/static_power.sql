-- Static power while clocks run, at a relative clock and squared relative voltage: leakage depends on the voltage, clock trees
-- depend on voltage and clock, memory in standby depends on neither. [W]
CREATE MACRO static_power(static_w, clocking_w, standby_w, reference_clock, voltage_square) AS
    (static_w - standby_w - clocking_w * (1e0 - reference_clock)) * voltage_square + standby_w;
