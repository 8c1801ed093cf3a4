-- Time of one kind of unit: its time at full efficiency plus the time of `half_ops`, divided by the share of the peak that large
-- kernels of the class reach. [s]
CREATE MACRO unit_time(ideal_s, half_ops, op_s, fraction) AS (ideal_s + half_ops * op_s) / NULLIF(fraction, 0e0);
