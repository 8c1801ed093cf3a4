-- Clock at which a run's average power equals the power limit, interpolated between two clocks by a power law.
CREATE MACRO clock_at_power(limit_w, clock, power_w, fuller_clock, fuller_power_w) AS
    clock * POWER(
        limit_w / NULLIF(power_w, 0e0),
        LN(fuller_clock / NULLIF(clock, 0e0)) / NULLIF(LN(fuller_power_w / NULLIF(power_w, 0e0)), 0e0)
    );
