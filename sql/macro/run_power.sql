-- Average power of a run: its dynamic energy, part of which follows the square of the voltage, divided by its time, plus static
-- power at its clock; null when a coefficient is missing. [W]
CREATE MACRO run_power(clocked_j, memory_j, run_s, static_w, voltage_square) AS
    (clocked_j * voltage_square + memory_j) / NULLIF(run_s, 0e0) + static_w;
