-- Voltage at a clock against the one at the reference clock, squared: it falls with the clock down to a floor.
CREATE MACRO voltage_square(clock_fraction, reference_fraction, voltage_slope, voltage_floor) AS
    POWER(GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_fraction)), 2);
