-- Square of the ratio of the voltage at a clock to the reference voltage. The voltage is linear in the clock between a floor and a
-- ceiling.
CREATE MACRO voltage_square(clock_fraction, reference_fraction, voltage_slope, voltage_floor, voltage_ceiling) AS
    POWER(
        LEAST(voltage_ceiling, GREATEST(voltage_floor, 1e0 - voltage_slope * (1e0 - reference_fraction * clock_fraction))), 2
    );
