-- Average power of a run: dynamic energy, part of which is proportional to the square of the voltage, divided by the run's time,
-- plus static power at the run's clock; null when a coefficient is missing. [W]
CREATE MACRO run_power(clocked_j, memory_j, run_s, static_w, voltage_square) AS
    (clocked_j * voltage_square + memory_j) / NULLIF(run_s, 0e0) + static_w;
